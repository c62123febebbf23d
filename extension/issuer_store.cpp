#include "issuer_store.hpp"

#include "history.hpp"
#include "installation.hpp"
#include "mark_store.hpp"
#include "named_row.hpp"

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

const text* text_column(const opened_table& table, HeapTuple tuple, int column)
{
    bool is_null;
    Datum value = column_of(table, tuple, column, is_null);
    return is_null ? nullptr : DatumGetTextPP(value);
}

int64 bigint_column(const opened_table& table, HeapTuple tuple, int column)
{
    bool is_null;
    Datum value = column_of(table, tuple, column, is_null);
    return is_null ? 0 : DatumGetInt64(value);
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

// One change of a resource's row: lock it, read it and the clock, decide, write. Only a first
// insertion can fail by somebody else's, and then all of it is done again.
struct issuer_change {
    opened_table table;
    std::string_view resource;
    row_versions versions;
    issuer_row row;
    TimestampTz now; // read after any wait
};

issuer_change begin_change(std::string_view resource)
{
    issuer_change change{};
    change.table = open_own_table(own_table::issuer, RowExclusiveLock);
    change.resource = resource;
    return change;
}

void end_change(const issuer_change& change)
{
    close_own_table(change.table);
    ForceSyncCommit(); // a token that was handed out must survive a crash, whatever
                       // synchronous_commit says
}

void wait_for_first_insertion(const issuer_change& change)
{
    const row_version& pending = change.versions.pending;
    if (pending.speculative != 0)
        SpeculativeInsertionWait(pending.writer, pending.speculative);
    else
        XactLockTableWait(pending.writer, change.table.heap, pending.tid(), XLTW_InsertIndex);
}

// Locks the version, waiting for whoever holds it; false where it is not the newest any more.
bool lock_settled(const issuer_change& change)
{
    HeapTupleData tuple;
    tuple.t_self = *change.versions.settled.tid();
    Buffer buffer;
    TM_FailureData failure;
    TM_Result result =
        heap_lock_tuple(change.table.heap, &tuple, GetCurrentCommandId(true),
                        LockTupleNoKeyExclusive, LockWaitBlock, false, &buffer, &failure);
    ReleaseBuffer(buffer);
    return result == TM_Ok;
}

void read_and_lock_row(issuer_change& change)
{
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        change.versions = find_row(change.table, change.resource);
        if (change.versions.settled.exists()) {
            if (lock_settled(change))
                break;
        } else if (change.versions.pending.exists()) {
            wait_for_first_insertion(change);
        } else {
            break;
        }
    }
    change.row = change.versions.settled.exists()
                     ? row_in(change.table, change.versions.settled.tuple)
                     : issuer_row{};
    change.now = GetCurrentTimestamp();
}

bool write_row(issuer_change& change)
{
    const issuer_row& row = change.row;
    Datum values[issuer_columns];
    bool nulls[issuer_columns] = {};
    values[column_resource - 1] = PointerGetDatum(text_of(change.resource));
    values[column_issued - 1] = Int64GetDatum(row.issued);
    values[column_first - 1] = Int64GetDatum(row.first);
    values[column_ticket - 1] = PointerGetDatum(row.ticket);
    nulls[column_ticket - 1] = row.ticket == nullptr;
    bool leased = row.lease_owner != nullptr;
    values[column_lease_owner - 1] = PointerGetDatum(row.lease_owner);
    values[column_lease_token - 1] = Int64GetDatum(row.lease_token);
    values[column_lease_until - 1] = TimestampTzGetDatum(row.lease_until);
    nulls[column_lease_owner - 1] = nulls[column_lease_token - 1] = nulls[column_lease_until - 1] =
        !leased;
    values[column_changed - 1] = TimestampTzGetDatum(change.now);
    if (change.versions.none())
        return insert_row(change.table, {values, nulls});
    return update_row(change.table, change.versions.settled.tid(), {values, nulls}, true) == TM_Ok;
}

// The last token of a reservation of n above base that stays inside a generation, starting the next
// one where the current has no room. Tokens that were accepted or issued beyond all generations are
// simply counted on.
token reservation_end(const issuer_change& change, token base, int64 n)
{
    int64 generation = current_generation();
    token start = std::max(base, start_of_generation(generation));
    if (start <= start_of_generation(generation + 1) - n)
        return start + n;
    token limit = start_of_generation(next_generation(generation) + 1);
    if (base <= limit - n) {
        generation = start_generation_after(generation);
        return std::max(base, start_of_generation(generation)) + n;
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
    if (above > base && above > limit - n)
        raise_bad_above(above, change.resource, limit);
}

void reserve_in_row(issuer_change& change, int64 n, token above)
{
    issuer_row& row = change.row;
    token base = std::max(row.issued, highest_mark_of(change.resource));
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

} // namespace

verdict judge_by_issues(std::string_view resource, token presented)
{
    verdict outcome{refusal::none, presented, no_token};
    opened_table table = open_own_table(own_table::issuer, AccessShareLock);
    row_versions versions = find_row(table, resource);
    if (versions.settled.exists()) {
        token issued = bigint_column(table, versions.settled.tuple, column_issued);
        token first = bigint_column(table, versions.settled.tuple, column_first);
        if (presented > issued)
            outcome = {refusal::not_issued, presented, issued};
        else if (presented < first)
            outcome = {refusal::retired, presented, first};
    }
    close_own_table(table);
    return outcome;
}

token reserve_tokens(std::string_view resource, int64 n, token above, const text* ticket)
{
    issuer_change change = begin_change(resource);
    do {
        read_and_lock_row(change);
        // A repeated request for the same ticket, whose answer was lost: the block that it got, if
        // it is of this history and would do.
        if (same_text(change.row.ticket, ticket) && change.row.first > above &&
            change.row.issued - change.row.first + 1 == n &&
            change.row.first > start_of_generation(current_generation()))
            break;
        reserve_in_row(change, n, above);
        change.row.ticket = ticket;
    } while (!write_row(change));
    end_change(change);
    return change.row.first;
}

token acquire_lease(std::string_view resource, const text* owner, int64 ttl)
{
    issuer_change change = begin_change(resource);
    do {
        read_and_lock_row(change);
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
    } while (!write_row(change));
    end_change(change);
    return change.row.lease_token;
}

bool renew_lease(std::string_view resource, const text* owner, token held, int64 ttl)
{
    issuer_change change = begin_change(resource);
    bool ours;
    do {
        read_and_lock_row(change);
        ours = is_lease_of(change, owner, held);
        change.row.lease_until = change.now + ttl;
    } while (ours && !write_row(change));
    end_change(change);
    return ours;
}

bool release_lease(std::string_view resource, const text* owner, token held)
{
    issuer_change change = begin_change(resource);
    bool ours;
    do {
        read_and_lock_row(change);
        ours = is_lease_of(change, owner, held);
        change.row.lease_owner = nullptr;
    } while (ours && !write_row(change));
    end_change(change);
    return ours;
}

} // namespace fencelock
