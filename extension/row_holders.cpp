#include "row_holders.hpp"

namespace fencelock {

namespace {

bool conflicts(LockTupleMode wanted, MultiXactStatus held)
{
    switch (held) {
    case MultiXactStatusForKeyShare:
        return false;
    case MultiXactStatusForShare:
        return wanted != LockTupleShare;
    default:
        return true;
    }
}

// How a single transaction in xmax holds the tuple.
MultiXactStatus status_of(HeapTupleHeader header)
{
    uint16 infomask = header->t_infomask;
    bool by_key = (header->t_infomask2 & HEAP_KEYS_UPDATED) != 0;
    if (HEAP_XMAX_IS_KEYSHR_LOCKED(infomask))
        return MultiXactStatusForKeyShare;
    if (HEAP_XMAX_IS_SHR_LOCKED(infomask))
        return MultiXactStatusForShare;
    if (HEAP_XMAX_IS_LOCKED_ONLY(infomask))
        return by_key ? MultiXactStatusForUpdate : MultiXactStatusForNoKeyUpdate;
    return by_key ? MultiXactStatusUpdate : MultiXactStatusNoKeyUpdate;
}

// The transactions named in xmax, finished ones included; palloc'd, null where there are none.
// Where all of them only locked the tuple, PostgreSQL would rather not look up those that have
// finished.
int members_of(HeapTupleHeader header, MultiXactMember** members)
{
    constexpr bool only_if_running = false;
    TransactionId xmax = HeapTupleHeaderGetRawXmax(header);
    *members = nullptr;
    if (!TransactionIdIsValid(xmax))
        return 0;
    if ((header->t_infomask & HEAP_XMAX_IS_MULTI) != 0)
        return std::max(0, GetMultiXactIdMembers(xmax, members, false, only_if_running));
    *members = static_cast<MultiXactMember*>(palloc(sizeof(MultiXactMember)));
    (*members)->xid = xmax;
    (*members)->status = status_of(header);
    return 1;
}

bool is_other_in_progress(TransactionId xid)
{
    return !TransactionIdIsCurrentTransactionId(xid) && TransactionIdIsInProgress(xid);
}

} // namespace

row_holder holder_of(const row_version& version, LockTupleMode mode)
{
    if (TransactionIdIsValid(version.writer))
        return {version.writer, true};
    HeapTupleHeader header = version.tuple->t_data;
    if ((header->t_infomask & HEAP_XMAX_INVALID) != 0)
        return {InvalidTransactionId, false};
    MultiXactMember* members;
    int count = members_of(header, &members);
    for (int i = 0; i < count; i++) {
        MultiXactStatus status = members[i].status;
        if (conflicts(mode, status) && is_other_in_progress(members[i].xid))
            return {members[i].xid,
                    status != MultiXactStatusForUpdate && status != MultiXactStatusUpdate};
    }
    return {InvalidTransactionId, false};
}

bool is_held(const row_version& version, LockTupleMode mode)
{
    return TransactionIdIsValid(holder_of(version, mode).transaction);
}

bool is_behind(Snapshot snapshot, const row_version& version, bool with_lockers)
{
    HeapTupleHeader header = version.tuple->t_data;
    TransactionId writer = HeapTupleHeaderGetXmin(header);
    if (!TransactionIdIsCurrentTransactionId(writer) && XidInMVCCSnapshot(writer, snapshot))
        return true;
    if (!with_lockers)
        return false;
    MultiXactMember* members;
    int count = members_of(header, &members);
    for (int i = 0; i < count; i++)
        if (!TransactionIdIsCurrentTransactionId(members[i].xid) &&
            XidInMVCCSnapshot(members[i].xid, snapshot))
            return true;
    return false;
}

transaction_progress progress_now()
{
    Snapshot latest = GetLatestSnapshot();
    return {latest->xmax, latest->xcnt};
}

} // namespace fencelock
