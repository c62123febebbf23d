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

void end_session_of(TransactionId holder, const blocked_token& blocked)
{
    TransactionId top = SubTransGetTopmostTransaction(holder);
    int pid = compat::terminate_backend_of(top);
    if (pid > 0)
        ereport(
            LOG,
            (errmsg(
                "ended the session with PID %d: its transaction %u held fencing token " INT64_FORMAT
                " while token " INT64_FORMAT " had waited for %d ms",
                pid, top, blocked.holding, blocked.waiting, preempt_after())));
    else if (TransactionIdIsInProgress(top))
        ereport(WARNING,
                (errmsg("fencing token " INT64_FORMAT
                        " waits for a prepared transaction with token " INT64_FORMAT,
                        blocked.waiting, blocked.holding),
                 errdetail("Prepared transaction %u has no session that could be ended.", top),
                 errhint("See pg_prepared_xacts, and COMMIT PREPARED or ROLLBACK PREPARED it.")));
}

} // namespace

void wait_for_transaction(TransactionId holder, const blocked_token& blocked)
{
    bool may_preempt = preempt_after() > 0 && blocked.holding < blocked.waiting;
    if (may_preempt) {
        if (ends_within(holder, preempt_after()))
            return;
        end_session_of(holder, blocked);
    }
    XactLockTableWait(holder, blocked.heap, blocked.tid, XLTW_Update);
}

} // namespace fencelock
