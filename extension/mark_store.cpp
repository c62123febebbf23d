#include "mark_store.hpp"

#include "issuer_store.hpp"
#include "named_row.hpp"
#include "row_holders.hpp"
#include "row_lock.hpp"
#include "row_wait.hpp"
#include "row_write.hpp"
#include "stat.hpp"

namespace fencelock {

namespace {

enum resource_column { column_resource = 1, column_mark, column_owner, column_changed };
constexpr int resource_columns = 4;

// One presentation on its way to a verdict.
struct presentation {
    opened_table table;
    const hashed_name& resource;
    token presented;
    const text* owner;
    row_queue queue;
    transaction_progress at_look; // where the transaction reads by one snapshot
    bool& siblings_unseen;
    bool advanced; // the mark was raised
};

enum class step : uint8 { look_again, decided };

token mark_in(const opened_table& table, const row_version& version)
{
    return version.exists() ? bigint_column(table, version.tuple, column_mark) : no_token;
}

// Null where the mark has no owner.
const text* owner_in(const opened_table& table, const row_version& version)
{
    return text_column(table, version.tuple, column_owner);
}

verdict refused(const presentation& p, refusal why, token bound)
{
    return {why, p.presented, bound};
}

verdict accepted(const presentation& p)
{
    return {refusal::none, p.presented, no_token};
}

// What this transaction reads must not be older than its claim. Siblings that share the very token
// are no earlier holders, so lockers count only where the mark is raised; but those that were not
// seen are remembered, for our own lock wipes out their traces.
bool is_behind_claim(presentation& p, const row_version* version, bool raises)
{
    if (!IsolationUsesXactSnapshot())
        return false;
    if (p.queue.waited)
        return true;
    if (version == nullptr)
        return false;
    Snapshot snapshot = GetTransactionSnapshot();
    if (is_behind(snapshot, *version, false))
        return true;
    p.siblings_unseen = p.siblings_unseen || is_behind(snapshot, *version, true);
    return raises && p.siblings_unseen;
}

// Once the row is ours: a lock that came and went between the look and ours has left no trace, so
// whoever has finished meanwhile may have been an earlier holder.
void note_finished(presentation& p)
{
    if (IsolationUsesXactSnapshot() && progress_now() != p.at_look)
        p.siblings_unseen = true;
}

step refuse_behind(const presentation& p, verdict& outcome)
{
    outcome = refused(p, refusal::behind, no_token);
    return step::decided;
}

struct new_row {
    Datum values[resource_columns];
    bool nulls[resource_columns];
};

new_row form_row(std::string_view resource, token mark, const text* owner)
{
    new_row row{};
    row.values[column_resource - 1] = PointerGetDatum(text_of(resource));
    row.values[column_mark - 1] = Int64GetDatum(mark);
    row.values[column_owner - 1] = PointerGetDatum(owner);
    row.nulls[column_owner - 1] = owner == nullptr;
    row.values[column_changed - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
    return row;
}

step queue_up(presentation& p, const row_versions& row, LockTupleMode mode, verdict& outcome)
{
    token holding = std::max(mark_in(p.table, row.settled), mark_in(p.table, row.pending));
    token newer;
    if (wait_for_row(p.queue, row.oldest(), mode, holding, newer) != queue_result::newer_waits)
        return step::look_again;
    outcome = refused(p, refusal::stale, newer);
    return step::decided;
}

// A resource that has no row here and none among the issues may have been pruned: then the floor is
// its mark.
verdict judge_unknown(const presentation& p)
{
    verdict outcome;
    if (judge_by_issues(p.resource, p.presented, outcome))
        return outcome;
    token floor = mark_in(p.table, find_row(p.table, floor_name).settled);
    return p.presented < floor ? refused(p, refusal::pruned, floor) : accepted(p);
}

// The floor is read again once our row stands: a prune that deleted the resource's row before that
// has committed its floor by then, and one that comes later finds our row.
step insert_mark(presentation& p, verdict& outcome)
{
    outcome = judge_unknown(p);
    if (outcome.why != refusal::none)
        return step::decided;
    // A prune that the snapshot does not see may have taken the row of an earlier holder.
    row_versions floor = find_row(p.table, floor_name);
    if (is_behind_claim(p, floor.settled.exists() ? &floor.settled : nullptr, false))
        return refuse_behind(p, outcome);
    new_row row = form_row(p.resource, p.presented, p.owner);
    if (!insert_row(p.table, {row.values, row.nulls, resource_columns}))
        return step::look_again;
    note_finished(p);
    if (p.siblings_unseen)
        return refuse_behind(p, outcome);
    outcome = judge_unknown(p);
    p.advanced = outcome.why == refusal::none;
    if (!p.advanced)
        delete_row(p.table, find_row(p.table, p.resource).settled.tid());
    return step::decided;
}

// Our own raise keeps everybody else out.
bool is_written_by_us(const row_version& version)
{
    return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(version.tuple->t_data));
}

// Writes token and owner over the version found, once nobody else holds it. Never waits itself:
// whoever is in the way is waited for by queue_up, which looks at the tokens first.
step write_mark(presentation& p, const row_versions& row, bool raises, verdict& outcome)
{
    const row_version& version = row.oldest();
    if (row.pending.exists() || is_held(version, LockTupleNoKeyExclusive))
        return queue_up(p, row, LockTupleNoKeyExclusive, outcome);

    token newer;
    if (does_newer_wait(p.queue, version, newer)) {
        outcome = refused(p, refusal::stale, newer);
        return step::decided;
    }
    if (is_behind_claim(p, &version, raises))
        return refuse_behind(p, outcome);
    new_row values = form_row(p.resource, p.presented, p.owner);
    if (!replace_row(p.table, version.tid(), {values.values, values.nulls, resource_columns}))
        return step::look_again;
    if (!is_written_by_us(version))
        note_finished(p);
    if (raises && p.siblings_unseen)
        return refuse_behind(p, outcome); // an error, which takes back what was written
    p.advanced = raises;
    outcome = accepted(p);
    return step::decided;
}

step raise_mark(presentation& p, const row_versions& row, verdict& outcome)
{
    outcome = accepted(p);
    judge_by_issues(p.resource, p.presented, outcome);
    return outcome.why == refusal::none ? write_mark(p, row, true, outcome) : step::decided;
}

step share_mark(presentation& p, const row_versions& row, verdict& outcome)
{
    const row_version& version = row.settled;
    token newer;
    switch (stand_behind_waiters(p.queue, version, newer)) {
    case queue_result::newer_waits:
        outcome = refused(p, refusal::stale, newer);
        return step::decided;
    case queue_result::look_again:
        return step::look_again;
    case queue_result::nobody_waits:
        break;
    }
    if (is_held(version, LockTupleShare))
        return queue_up(p, row, LockTupleShare, outcome);

    if (is_behind_claim(p, &version, false))
        return refuse_behind(p, outcome);
    if (!is_written_by_us(version)) {
        if (lock_version(p.table, version.tid(), LockTupleShare, LockWaitSkip) != TM_Ok)
            return step::look_again;
        note_finished(p);
    }
    outcome = accepted(p);
    return step::decided;
}

// The token is the mark already. An owner may be missing there, and is named by whoever names one
// first.
step present_equal(presentation& p, const row_versions& row, verdict& outcome)
{
    const text* mark_owner = owner_in(p.table, row.settled);
    if (p.owner != nullptr && mark_owner != nullptr && view_of(p.owner) != view_of(mark_owner)) {
        outcome = refused(p, refusal::conflict, no_token);
        return step::decided;
    }
    if (row.pending.exists())
        return queue_up(p, row, LockTupleShare, outcome);
    if (p.owner == nullptr || mark_owner != nullptr)
        return share_mark(p, row, outcome);
    return write_mark(p, row, false, outcome);
}

step present_once(presentation& p, verdict& outcome)
{
    if (IsolationUsesXactSnapshot())
        p.at_look = progress_now();
    row_versions row = find_row(p.table, p.resource);
    if (row.none())
        return insert_mark(p, outcome);
    if (row.pending.speculative != 0) {
        SpeculativeInsertionWait(row.pending.writer, row.pending.speculative);
        return step::look_again;
    }
    token mark = mark_in(p.table, row.settled);
    token highest = std::max(mark, mark_in(p.table, row.pending));
    if (p.presented < highest) {
        outcome = refused(p, refusal::stale, highest);
        return step::decided;
    }
    return p.presented == mark ? present_equal(p, row, outcome) : raise_mark(p, row, outcome);
}

} // namespace

verdict present_to_mark(const hashed_name& resource, token presented, const text* owner,
                        const place_source* guard, bool& siblings_unseen)
{
    opened_table table = open_own_table(own_table::resource, RowExclusiveLock);
    presentation p{.table = table,
                   .resource = resource,
                   .presented = presented,
                   .owner = owner,
                   .queue = begin_queue(table.heap, resource, presented, guard),
                   .at_look = {},
                   .siblings_unseen = siblings_unseen,
                   .advanced = false};

    // Each turn reads the row anew, so that every decision rests on one look and the change that
    // follows is refused by the heap where the row has changed since.
    verdict outcome{};
    while (present_once(p, outcome) == step::look_again)
        CHECK_FOR_INTERRUPTS();

    leave_queue(p.queue);
    close_own_table(p.table);
    if (p.queue.waited)
        count_event(stat_event::wait);
    if (outcome.why == refusal::none)
        count_event(stat_event::accepted);
    if (p.advanced)
        count_event(stat_event::advanced);
    return outcome;
}

token mark_of(const hashed_name& resource)
{
    opened_table table = open_own_table(own_table::resource, AccessShareLock);
    row_versions row = find_row(table, resource);
    if (!row.settled.exists())
        row = find_row(table, floor_name);
    token mark = mark_in(table, row.settled);
    close_own_table(table);
    return mark;
}

token own_mark_of(const hashed_name& resource)
{
    opened_table table = open_own_table(own_table::resource, AccessShareLock);
    token mark = mark_in(table, find_row(table, resource).settled);
    close_own_table(table);
    return mark;
}

token highest_mark_of(const hashed_name& resource)
{
    opened_table table = open_own_table(own_table::resource, AccessShareLock);
    row_versions row = find_row(table, resource);
    token mark = std::max(mark_in(table, row.settled), mark_in(table, row.pending));
    if (row.none())
        mark = mark_in(table, find_row(table, floor_name).settled);
    close_own_table(table);
    return mark;
}

void set_mark(const hashed_name& resource, token mark)
{
    opened_table table = open_own_table(own_table::resource, RowExclusiveLock);
    new_row values = form_row(resource, mark, nullptr);
    for (bool done = false; !done;) {
        row_versions row = find_and_lock_row(table, resource, false);
        done = row.settled.exists() ||
               insert_row(table, {values.values, values.nulls, resource_columns});
        if (row.settled.exists())
            update_row(table, row.settled.tid(), {values.values, values.nulls, resource_columns});
    }
    close_own_table(table);
}

void raise_mark_to(const hashed_name& resource, token least)
{
    if (mark_of(resource) >= least)
        return; // committed or our own, so nobody is waited for
    opened_table table = open_own_table(own_table::resource, RowExclusiveLock);
    new_row values = form_row(resource, least, nullptr);
    for (bool done = false; !done;) {
        row_versions row = find_and_lock_row(table, resource, true);
        if (row.settled.exists()) {
            if (mark_in(table, row.settled) < least)
                update_row(table, row.settled.tid(),
                           {values.values, values.nulls, resource_columns});
            break;
        }
        done = insert_row(table, {values.values, values.nulls, resource_columns});
        // As in insert_mark: only now it is sure that no prune has left a higher floor unseen.
        if (done && mark_in(table, find_row(table, floor_name).settled) > least)
            delete_row(table, find_row(table, resource).settled.tid());
    }
    close_own_table(table);
}

bool take_idle_mark(const hashed_name& resource, TimestampTz idle_since, token limit, token& mark)
{
    opened_table table = open_own_table(own_table::resource, RowExclusiveLock);
    row_versions row = find_row(table, resource);
    bool taken = row.none();
    mark = no_token;
    if (!taken && !row.pending.exists()) {
        bool is_null;
        Datum changed = column_of(table, row.settled.tuple, column_changed, is_null);
        taken = DatumGetTimestampTz(changed) < idle_since && mark_in(table, row.settled) <= limit &&
                lock_version(table, row.settled.tid(), LockTupleExclusive, LockWaitSkip) == TM_Ok;
        if (taken) {
            mark = mark_in(table, row.settled);
            delete_row(table, row.settled.tid());
        }
    }
    close_own_table(table);
    return taken;
}

} // namespace fencelock
