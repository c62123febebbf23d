#include "row_write.hpp"

#include "pg_compat.hpp"
#include "row_indexes.hpp"

namespace fencelock {

namespace {

HeapTuple form_tuple(const opened_table& table, row_values row)
{
    Datum values[MaxHeapAttributeNumber];
    bool nulls[MaxHeapAttributeNumber];
    int columns = RelationGetNumberOfAttributes(table.heap);
    for (int i = 0; i < columns; i++) {
        nulls[i] = i >= row.count || row.nulls[i];
        values[i] = nulls[i] ? 0 : row.values[i];
    }
    return heap_form_tuple(RelationGetDescr(table.heap), values, nulls);
}

TM_Result update_version(const opened_table& table, ItemPointer found, row_values row, bool wait)
{
    HeapTuple tuple = form_tuple(table, row);
    compat::index_need need;
    TM_Result result = compat::heap_update(table.heap, found, tuple, wait, need);
    if (result == TM_Ok) {
        insert_index_entries(table, tuple, need, false);
        CommandCounterIncrement(); // else a second update in this command would not see this
                                   // version
    }
    heap_freetuple(tuple);
    return result;
}

} // namespace

TM_Result lock_version(const opened_table& table, ItemPointer found, LockTupleMode mode,
                       LockWaitPolicy policy)
{
    HeapTupleData tuple;
    tuple.t_self = *found;
    Buffer buffer;
    TM_FailureData failure;
    TM_Result result = heap_lock_tuple(table.heap, &tuple, GetCurrentCommandId(true), mode, policy,
                                       false, &buffer, &failure);
    ReleaseBuffer(buffer);
    return result;
}

void delete_row(const opened_table& table, ItemPointer found)
{
    simple_heap_delete(table.heap, found);
    CommandCounterIncrement();
}

bool insert_row(const opened_table& table, row_values row)
{
    HeapTuple tuple = form_tuple(table, row);
    tuple->t_tableOid = RelationGetRelid(table.heap);
    TransactionId xid = GetCurrentTransactionId();

    // Until the insertion is decided, whoever meets the tuple waits for the speculative lock only,
    // not for this transaction.
    // (A variable of its own: the next line may be a macro that evaluates its argument twice.)
    uint32 speculative = SpeculativeInsertionLockAcquire(xid);
    HeapTupleHeaderSetSpeculativeToken(tuple->t_data, speculative);
    heap_insert(table.heap, tuple, GetCurrentCommandId(true), HEAP_INSERT_SPECULATIVE, nullptr);
    bool unique = insert_index_entries(table, tuple, compat::index_need::all, true);
    if (unique)
        heap_finish_speculative(table.heap, &tuple->t_self);
    else
        heap_abort_speculative(table.heap, &tuple->t_self);
    SpeculativeInsertionLockRelease(xid);
    if (unique)
        CommandCounterIncrement();
    return unique;
}

void update_row(const opened_table& table, ItemPointer found, row_values row)
{
    if (update_version(table, found, row, true) != TM_Ok)
        elog(ERROR, "fencelock: a locked row of \"%s\" has changed",
             RelationGetRelationName(table.heap));
}

bool replace_row(const opened_table& table, ItemPointer found, row_values row)
{
    if constexpr (compat::may_update_without_waiting) {
        TM_Result result = update_version(table, found, row, false);
        if (result != TM_BeingModified)
            return result == TM_Ok;
        // Held by somebody, perhaps by this transaction alone: that the lock tells.
    }
    if (lock_version(table, found, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok)
        return false;
    update_row(table, found, row);
    return true;
}

} // namespace fencelock
