#include "issuer_store.hpp"

#include "errors.hpp"
#include "history.hpp"
#include "installation.hpp"
#include "mark_store.hpp"
#include "named_row.hpp"
#include "row_lock.hpp"
#include "row_write.hpp"

namespace fencelock {

namespace {

enum issuer_column {
    column_resource = 1,
    column_issued,
    column_first,
    column_ticket,
    column_lease_owner,
    column_lease_token,
    column_lease_until,
    column_changed
};
constexpr int issuer_columns = 8;

// A row of fence_issuer. Texts point into the version that it was read from, or into the caller's
// arguments.
struct issuer_row {
    token issued; // the highest token handed out
    token first;  // of the newest reservation
    const text* ticket;
    const text* lease_owner; // null: no lease
    token lease_token;
    TimestampTz lease_until;
};

bool same_text(const text* one, const text* other)
{
    return one != nullptr && other != nullptr && view_of(one) == view_of(other);
}

issuer_row row_in(const opened_table& table, HeapTuple tuple)
{
    issuer_row row;
    row.issued = bigint_column(table, tuple, column_issued);
    row.first = bigint_column(table, tuple, column_first);
    row.ticket = text_column(table, tuple, column_ticket);
    row.lease_owner = text_column(table, tuple, column_lease_owner);
    row.lease_token = bigint_column(table, tuple, column_lease_token);
    row.lease_until = bigint_column(table, tuple, column_lease_until);
    return row;
}

// One change of a resource's row, which is locked from begin_change on: read it and the clock,
// decide, write.
struct issuer_change {
    opened_table table;
    std::string_view resource;
    row_versions versions;
    issuer_row row;
    TimestampTz now; // read after any wait
};

void form_row(const issuer_change& change, Datum* values, bool* nulls)
{
    const issuer_row& row = change.row;
    bool leased = row.lease_owner != nullptr;
    values[column_resource - 1] = PointerGetDatum(text_of(change.resource));
    values[column_issued - 1] = Int64GetDatum(row.issued);
    values[column_first - 1] = Int64GetDatum(row.first);
    values[column_ticket - 1] = PointerGetDatum(row.ticket);
    values[column_lease_owner - 1] = PointerGetDatum(row.lease_owner);
    values[column_lease_token - 1] = Int64GetDatum(row.lease_token);
    values[column_lease_until - 1] = TimestampTzGetDatum(row.lease_until);
    values[column_changed - 1] = TimestampTzGetDatum(change.now);
    for (int i = 0; i < issuer_columns; i++)
        nulls[i] = false;
    nulls[column_ticket - 1] = row.ticket == nullptr;
    nulls[column_lease_owner - 1] = nulls[column_lease_token - 1] = nulls[column_lease_until - 1] =
        !leased;
}

void insert_empty_row(issuer_change& change)
{
    Datum values[issuer_columns];
    bool nulls[issuer_columns];
    change.row = {};
    form_row(change, values, nulls);
    (void)insert_row(
        change.table,
        {values, nulls, issuer_columns}); // if somebody else's is in the way, that one will do
}

// False where the resource was never issued here. With create its row is inserted then, before
// anything that its tokens must lie above is read: who prunes it finds it from then on.
bool begin_change(issuer_change& change, std::string_view resource, bool create)
{
    change.table = open_own_table(own_table::issuer, RowExclusiveLock);
    change.resource = resource;
    explained_wait told{resource, no_token, no_token, nullptr};
    for (;;) {
        change.versions = find_and_lock_row(change.table, resource, true, &told);
        change.now = GetCurrentTimestamp();
        if (change.versions.settled.exists())
            break;
        if (!create) {
            close_own_table(change.table);
            return false;
        }
        insert_empty_row(change);
    }
    change.row = row_in(change.table, change.versions.settled.tuple);
    return true;
}

void write_row(const issuer_change& change)
{
    Datum values[issuer_columns];
    bool nulls[issuer_columns];
    form_row(change, values, nulls);
    update_row(change.table, change.versions.settled.tid(), {values, nulls, issuer_columns});
}

void end_change(const issuer_change& change)
{
    close_own_table(change.table);
    // A token that was handed out must survive a crash, whatever synchronous_commit says.
    ForceSyncCommit();
}

// The last token of a reservation of n above base that stays inside a generation, starting the next
// one where the current has no room. Where base lies in that one already, another history began it,
// such as that of a promoted standby whose primary this still is, and may have handed out more of
// it than is known here: then this has to wait for a later one. Tokens that were accepted or issued
// beyond all generations are simply counted on.
token reservation_end(const issuer_change& change, token base, int64 n)
{
    int64 generation = current_generation();
    for (;;) {
        token start = std::max(base, start_of_generation(generation));
        if (start <= start_of_generation(generation + 1) - n)
            return start + n;
        int64 next = next_generation(generation);
        if (base > start_of_generation(next + 1) - n)
            break;
        if (base > start_of_generation(next))
            raise_foreign_generation(change.resource, base, seconds_to_generation(next + 1));
        // Somebody else may have started another one than that: measured against it again.
        generation = start_generation_after(generation);
    }
    if (base > PG_INT64_MAX - n)
        raise_no_token_left(change.resource);
    return base + n;
}

// "above" asks for no more than the next generation can give, unless what was issued and accepted
// is there already.
void require_possible(const issuer_change& change, token base, int64 n, token above)
{
    token limit = start_of_generation(next_generation(current_generation()) + 1);
    token highest = std::max(base, limit - n);
    if (above > highest)
        raise_high_above(above, change.resource, n, highest);
}

void reserve_in_row(issuer_change& change, int64 n, token above)
{
    issuer_row& row = change.row;
    // The floor always counts: marks and issues that come back by a restore may lie below it.
    token base = std::max({row.issued, highest_mark_of(change.resource), mark_of(floor_name)});
    require_possible(change, base, n, above);
    row.issued = reservation_end(change, std::max(base, above), n);
    row.first = row.issued - n + 1;
}

bool lease_runs(const issuer_change& change)
{
    return change.row.lease_owner != nullptr && change.row.lease_until > change.now;
}

bool is_lease_of(const issuer_change& change, const text* owner, token held)
{
    return lease_runs(change) && same_text(change.row.lease_owner, owner) &&
           change.row.lease_token == held;
}

// The lease's token can be given to its owner again: no reservation has retired it, no newer one
// was accepted, and it was issued in this history.
bool lease_token_is_good(const issuer_change& change)
{
    const issuer_row& row = change.row;
    return row.lease_token == row.first && row.lease_token == row.issued &&
           mark_of(change.resource) <= row.lease_token &&
           row.lease_token > start_of_generation(current_generation());
}

// The same ticket and number of tokens as last time: a request whose answer was lost. It gets the
// block that it got, if that is of this history and would still do.
bool is_repeated_request(const issuer_change& change, int64 n, token above, const text* ticket)
{
    const issuer_row& row = change.row;
    return same_text(row.ticket, ticket) && row.issued - row.first + 1 == n && row.first > above &&
           row.first > start_of_generation(current_generation());
}

bool is_idle(const opened_table& table, HeapTuple tuple, TimestampTz idle_since)
{
    return bigint_column(table, tuple, column_changed) < idle_since &&
           bigint_column(table, tuple, column_lease_until) < GetCurrentTimestamp();
}

} // namespace

bool judge_by_issues(const hashed_name& resource, token presented, verdict& outcome)
{
    opened_table table = open_own_table(own_table::issuer, AccessShareLock);
    row_versions versions = find_row(table, resource);
    if (versions.settled.exists()) {
        token issued = bigint_column(table, versions.settled.tuple, column_issued);
        token first = bigint_column(table, versions.settled.tuple, column_first);
        outcome = {refusal::none, presented, no_token};
        if (presented > issued)
            outcome = {refusal::not_issued, presented, issued};
        else if (presented < first)
            outcome = {refusal::retired, presented, first};
    }
    close_own_table(table);
    return versions.settled.exists();
}

token reserve_tokens(std::string_view resource, int64 n, token above, const text* ticket)
{
    issuer_change change;
    begin_change(change, resource, true);
    if (!is_repeated_request(change, n, above, ticket)) {
        reserve_in_row(change, n, above);
        change.row.ticket = ticket;
        write_row(change);
    }
    end_change(change);
    return change.row.first;
}

token acquire_lease(std::string_view resource, const text* owner, int64 ttl)
{
    issuer_change change;
    begin_change(change, resource, true);
    bool same_owner = same_text(change.row.lease_owner, owner);
    if (lease_runs(change) && !same_owner) {
        end_change(change);
        return no_token;
    }
    if (!same_owner || !lease_token_is_good(change)) {
        reserve_in_row(change, 1, no_token);
        change.row.ticket = nullptr;
        change.row.lease_token = change.row.first;
    }
    change.row.lease_owner = owner;
    change.row.lease_until = change.now + ttl;
    write_row(change);
    end_change(change);
    return change.row.lease_token;
}

bool renew_lease(std::string_view resource, const text* owner, token held, int64 ttl)
{
    issuer_change change;
    if (!begin_change(change, resource, false))
        return false;
    bool ours = is_lease_of(change, owner, held);
    if (ours) {
        change.row.lease_until = change.now + ttl;
        write_row(change);
    }
    end_change(change);
    return ours;
}

bool release_lease(std::string_view resource, const text* owner, token held)
{
    issuer_change change;
    if (!begin_change(change, resource, false))
        return false;
    bool ours = is_lease_of(change, owner, held);
    if (ours) {
        change.row.lease_owner = nullptr;
        write_row(change);
    }
    end_change(change);
    return ours;
}

List* idle_issued_resources(TimestampTz idle_since)
{
    List* names = NIL;
    opened_table table = open_own_table(own_table::issuer, AccessShareLock);
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    TableScanDesc scan = table_beginscan(table.heap, snapshot, 0, nullptr);
    while (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection))
        if (is_idle(table, tuple, idle_since))
            names = lappend(names, text_of(view_of(text_column(table, tuple, column_resource))));
    table_endscan(scan);
    UnregisterSnapshot(snapshot);
    close_own_table(table);
    return names;
}

bool hold_idle_issues(std::string_view resource, TimestampTz idle_since, token& issued)
{
    opened_table table = open_own_table(own_table::issuer, RowExclusiveLock);
    row_versions row = find_row(table, resource);
    bool held = row.settled.exists() && !row.pending.exists() &&
                is_idle(table, row.settled.tuple, idle_since) &&
                lock_version(table, row.settled.tid(), LockTupleExclusive, LockWaitSkip) == TM_Ok;
    if (held)
        issued = bigint_column(table, row.settled.tuple, column_issued);
    close_own_table(table);
    return held;
}

void delete_held_issues(std::string_view resource)
{
    opened_table table = open_own_table(own_table::issuer, RowExclusiveLock);
    delete_row(table, find_row(table, resource).settled.tid());
    close_own_table(table);
}

} // namespace fencelock
