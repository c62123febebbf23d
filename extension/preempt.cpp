#include "preempt.hpp"

#include <csignal>

#include "pg_compat.hpp"
#include "settings.hpp"

namespace fencelock {

namespace {

constexpr long shortest_pause_ms = 1;
constexpr long longest_pause_ms = 20;

// True where the transaction has ended before the time was over. Looks again and again instead of
// sleeping on the lock, as such a sleep could be cut short only by an error.
bool ends_within(TransactionId holder, int milliseconds)
{
    TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
    long pause = shortest_pause_ms;
    while (!compat::conditional_xact_lock_wait(holder)) {
        if (GetCurrentTimestamp() >= deadline)
            return false;
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause,
                        PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        pause = std::min(pause * 2, longest_pause_ms);
    }
    return true;
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

void end_session_of(TransactionId holder, const blocked_row& blocked)
{
    TransactionId top = SubTransGetTopmostTransaction(holder);
    int pid = compat::terminate_backend_of(top);
    if (pid > 0)
        report_ended(pid, top, blocked);
    else if (TransactionIdIsInProgress(top))
        report_prepared(top, blocked);
}

} // namespace

void wait_for_transaction(TransactionId holder, const blocked_row& blocked)
{
    if (blocked.may_preempt && preempt_after() > 0) {
        if (ends_within(holder, preempt_after()))
            return;
        end_session_of(holder, blocked);
    }
    XactLockTableWait(holder, blocked.heap, blocked.tid, XLTW_Update);
}

} // namespace fencelock
