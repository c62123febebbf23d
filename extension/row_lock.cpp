#include "row_lock.hpp"

#include "preempt.hpp"
#include "row_holders.hpp"
#include "row_write.hpp"
#include "settings.hpp"

namespace fencelock {

namespace {

template <typename function>
void wait_told(const explained_wait* told, function do_wait)
{
    if (told != nullptr)
        wait_explained(*told, do_wait);
    else
        do_wait();
}

} // namespace

row_versions find_and_lock_row(const opened_table& table, const hashed_name& name, bool preempts,
                               const explained_wait* told)
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
        if (row.settled.exists()) {
            TM_Result locked = TM_BeingModified;
            wait_told(told, [&] {
                locked = lock_version(table, row.settled.tid(), LockTupleNoKeyExclusive, policy);
            });
            if (locked == TM_Ok)
                return row;
        }
        if (!row.settled.exists() && row.pending.speculative != 0) {
            SpeculativeInsertionWait(row.pending.writer, row.pending.speculative);
            continue;
        }
        row_holder holder = holder_of(row.oldest(), LockTupleNoKeyExclusive);
        if (TransactionIdIsValid(holder.transaction))
            wait_told(told, [&] {
                wait_for_transaction(holder.transaction,
                                     {table.heap, row.oldest().tid(),
                                      preempts && holder.by_claim_or_issue, no_token, no_token},
                                     overdue);
            });
    }
}

} // namespace fencelock
