#include "preempt.hpp"

#include "pg_compat.hpp"
#include "settings.hpp"

namespace fencelock {

namespace {

// Sleeps on the transaction's lock as ever, so that deadlocks are found, but for no longer than
// this: then lock_timeout, set for the while, ends the sleep by an error, which a subtransaction
// takes back. True where the transaction has ended.
bool ends_within(TransactionId holder, const blocked_row& blocked, int milliseconds)
{
    MemoryContext memory = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    int callers_timeout = LockTimeout;
    volatile bool ended = false;
    ErrorData* volatile error = nullptr;

    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(memory);
    LockTimeout = milliseconds;
    PG_TRY();
    {
        XactLockTableWait(holder, blocked.heap, blocked.tid, XLTW_Update);
        ended = true;
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(memory);
        error = CopyErrorData();
        FlushErrorState();
    }
    PG_END_TRY();
    LockTimeout = callers_timeout;
    if (ended)
        ReleaseCurrentSubTransaction();
    else
        RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(memory);
    CurrentResourceOwner = owner;

    if (error != nullptr && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
        ReThrowError(error);
    return ended;
}

// The caller's own lock_timeout comes first where it is shorter.
bool preempts_before_timeout()
{
    return preempt_after() > 0 && (LockTimeout == 0 || preempt_after() < LockTimeout);
}

void report_ended(int pid, TransactionId holder, const blocked_row& blocked)
{
    if (blocked.waiting == no_token)
        ereport(LOG,
                (errmsg("ended the session with PID %d: its transaction %u had kept others from "
                        "getting a fencing token for %d ms",
                        pid, holder, preempt_after())));
    else
        ereport(
            LOG,
            (errmsg(
                "ended the session with PID %d: its transaction %u held fencing token " INT64_FORMAT
                " while token " INT64_FORMAT " had waited for %d ms",
                pid, holder, blocked.holding, blocked.waiting, preempt_after())));
}

void report_prepared(TransactionId holder, const blocked_row& blocked)
{
    ereport(WARNING,
            (blocked.waiting == no_token
                 ? errmsg("getting a fencing token waits for a prepared transaction")
                 : errmsg("fencing token " INT64_FORMAT
                          " waits for a prepared transaction with token " INT64_FORMAT,
                          blocked.waiting, blocked.holding),
             errdetail("Prepared transaction %u has no session that could be ended.", holder),
             errhint("See pg_prepared_xacts, and COMMIT PREPARED or ROLLBACK PREPARED it.")));
}

void end_session_of(TransactionId top, const blocked_row& blocked)
{
    int pid = compat::terminate_backend_of(top);
    if (pid > 0)
        report_ended(pid, top, blocked);
    else if (TransactionIdIsInProgress(top))
        report_prepared(top, blocked);
}

} // namespace

void wait_for_transaction(TransactionId holder, const blocked_row& blocked, TransactionId& overdue)
{
    TransactionId top = SubTransGetTopmostTransaction(holder);
    if (blocked.may_preempt && preempts_before_timeout() && overdue != top) {
        if (!ends_within(holder, blocked, preempt_after()))
            overdue = top;
        return;
    }
    if (blocked.may_preempt && overdue == top) {
        end_session_of(top, blocked);
        overdue = InvalidTransactionId;
    }
    XactLockTableWait(holder, blocked.heap, blocked.tid, XLTW_Update);
}

} // namespace fencelock
