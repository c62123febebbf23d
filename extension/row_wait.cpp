#include "row_wait.hpp"

#include "pg_compat.hpp"
#include "preempt.hpp"
#include "row_holders.hpp"

namespace fencelock {

namespace {

// An announcement is a heavyweight lock that conflicts with nothing: all it does is to stand in the
// lock table, which every backend can read. It takes the place of shared memory, which an extension
// has only when preloaded. The tag has room for the token and a hash of the name; the class keeps
// it apart from users' advisory locks (1 and 2). A collision of hashes costs a refusal, never an
// acceptance.
constexpr uint16 announcement_class = 0xFE9C;

LOCKTAG announcement_tag(const row_queue& queue)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, queue.resource_hash, static_cast<uint32>(queue.presented >> 32),
                         static_cast<uint32>(queue.presented), announcement_class);
    return tag;
}

void announce(row_queue& queue)
{
    if (queue.announced)
        return;
    LOCKTAG tag = announcement_tag(queue);
    (void)LockAcquire(&tag, ShareLock, false, false);
    queue.announced = true;
}

token highest_waiting(const row_queue& queue)
{
    token highest = no_token;
    LockData* locks = GetLockStatusData();
    for (int i = 0; i < locks->nelements; i++) {
        const LockInstanceData& lock = locks->locks[i];
        const LOCKTAG& tag = lock.locktag;
        if (lock.pid == MyProcPid || tag.locktag_type != LOCKTAG_ADVISORY ||
            tag.locktag_field4 != announcement_class || tag.locktag_field1 != queue.resource_hash)
            continue;
        token waiting = static_cast<token>(tag.locktag_field2) << 32 | tag.locktag_field3;
        highest = std::max(highest, waiting);
    }
    return highest;
}

void leave_line(row_queue& queue, LOCKMODE mode)
{
    if (ItemPointerIsValid(&queue.position))
        UnlockTuple(queue.heap, &queue.position, mode);
    ItemPointerSetInvalid(&queue.position);
}

LOCKMODE line_mode(LockTupleMode mode)
{
    return mode == LockTupleShare ? ShareLock : ExclusiveLock;
}

// Whether others stand in line at the version, if this check does not do so itself.
bool does_somebody_wait(const row_queue& queue, const row_version& version)
{
    // Lockers come and go, and their traces stay in xmax: where there is none, nobody can be
    // waiting for one.
    if (!TransactionIdIsValid(HeapTupleHeaderGetRawXmax(version.tuple->t_data)) ||
        ItemPointerEquals(const_cast<ItemPointer>(&queue.position), version.tid()))
        return false;
    LOCKTAG line;
    const LockRelId& relation = queue.heap->rd_lockInfo.lockRelId;
    SET_LOCKTAG_TUPLE(line, relation.dbId, relation.relId, ItemPointerGetBlockNumber(version.tid()),
                      ItemPointerGetOffsetNumber(version.tid()));
    if (LockWaiterCount(&line) == 0) // a look that costs a sixth of what follows
        return false;
    if (!compat::conditional_lock_tuple(queue.heap, version.tid(), ShareLock))
        return true;
    UnlockTuple(queue.heap, version.tid(), ShareLock);
    return false;
}

// The wait tells in its error what it was for. A guard's rights are asked for before it, as an
// error's callback must not look into catalogs.
template <typename function>
void wait_in_queue(const row_queue& queue, token holding, function wait)
{
    explained_wait explained{queue.resource, queue.presented, holding, nullptr};
    guarded_place place;
    if (queue.guard != nullptr) {
        place = queue.guard->find(queue.guard->row);
        explained.place = &place;
    }
    wait_explained(explained, wait);
}

} // namespace

row_queue begin_queue(Relation heap, const hashed_name& resource, token presented,
                      const place_source* guard)
{
    row_queue queue{};
    queue.heap = heap;
    queue.resource = resource.text;
    queue.resource_hash = resource.hash ^ RelationGetRelid(heap) ^ MyDatabaseId;
    queue.presented = presented;
    queue.guard = guard;
    ItemPointerSetInvalid(&queue.position);
    return queue;
}

void leave_queue(row_queue& queue)
{
    leave_line(queue, queue.line_mode);
    if (!queue.announced)
        return;
    LOCKTAG tag = announcement_tag(queue);
    LockRelease(&tag, ShareLock, false);
    queue.announced = false;
}

queue_result wait_for_row(row_queue& queue, const row_version& version, LockTupleMode mode,
                          token holding, token& bound)
{
    bool in_line =
        ItemPointerEquals(&queue.position, version.tid()) && queue.line_mode == line_mode(mode);
    if (!in_line) {
        bound = highest_waiting(queue);
        if (bound > queue.presented)
            return queue_result::newer_waits;
        announce(queue);
        leave_line(queue, queue.line_mode);
        queue.line_mode = line_mode(mode);
        wait_in_queue(queue, holding,
                      [&] { LockTuple(queue.heap, version.tid(), queue.line_mode); });
        queue.position = *version.tid();
        queue.waited = true;
        return queue_result::look_again;
    }
    row_holder holder = holder_of(version, mode);
    if (TransactionIdIsValid(holder.transaction)) {
        queue.waited = true;
        bool newer = holder.by_claim_or_issue && holding < queue.presented;
        wait_in_queue(queue, holding, [&] {
            wait_for_transaction(holder.transaction,
                                 {queue.heap, version.tid(), newer, queue.presented, holding},
                                 queue.overdue);
        });
    }
    return queue_result::look_again;
}

queue_result stand_behind_waiters(row_queue& queue, const row_version& version, token& bound)
{
    if (!does_somebody_wait(queue, version))
        return queue_result::nobody_waits;
    return wait_for_row(queue, version, LockTupleShare, queue.presented, bound);
}

bool does_newer_wait(const row_queue& queue, const row_version& version, token& newer)
{
    if (!does_somebody_wait(queue, version))
        return false;
    newer = highest_waiting(queue);
    return newer > queue.presented;
}

} // namespace fencelock
