#include "row_lock.hpp"

#include "preempt.hpp"
#include "row_holders.hpp"
#include "row_write.hpp"
#include "settings.hpp"

namespace fencelock {

row_versions find_and_lock_row(const opened_table& table, const hashed_name& name, bool preempts)
{
    // Where nobody is to be preempted PostgreSQL keeps those that wait in order.
    preempts = preempts && preempt_after() > 0;
    LockWaitPolicy policy = preempts ? LockWaitSkip : LockWaitBlock;
    TransactionId overdue = InvalidTransactionId;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        row_versions row = find_row(table, name);
        if (row.none())
            return row;
        if (row.settled.exists() &&
            lock_version(table, row.settled.tid(), LockTupleNoKeyExclusive, policy) == TM_Ok)
            return row;
        if (!row.settled.exists() && row.pending.speculative != 0) {
            SpeculativeInsertionWait(row.pending.writer, row.pending.speculative);
            continue;
        }
        row_holder holder = holder_of(row.oldest(), LockTupleNoKeyExclusive);
        if (TransactionIdIsValid(holder.transaction))
            wait_for_transaction(holder.transaction,
                                 {table.heap, row.oldest().tid(),
                                  preempts && holder.by_claim_or_issue, no_token, no_token},
                                 overdue);
    }
}

} // namespace fencelock
