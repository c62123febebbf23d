#include "row_indexes.hpp"

namespace fencelock {

namespace {

// An index, opened, and what it takes to fill it.
struct opened_index {
    Relation relation;
    IndexInfo* info;
};

bool is_plain(const IndexInfo* info)
{
    return info->ii_Expressions == NIL && info->ii_Predicate == NIL;
}

// Unique on the name alone, as the primary key is: where a first version of a name meets another
// one.
bool is_unique_by_name(const opened_index& index)
{
    return index.relation->rd_index->indisunique && is_plain(index.info) &&
           index.info->ii_NumIndexKeyAttrs == 1 && index.info->ii_IndexAttrNumbers[0] == 1;
}

IndexUniqueCheck check_for(const opened_index& index, bool speculative)
{
    if (!index.relation->rd_index->indisunique)
        return UNIQUE_CHECK_NO;
    return speculative && is_unique_by_name(index) ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;
}

// The access method's answer means something only where a conflict is no error.
bool insert_values(Relation heap, const opened_index& index, HeapTuple tuple, Datum* values,
                   bool* nulls, bool speculative)
{
    IndexUniqueCheck check = check_for(index, speculative);
    bool unique = compat::index_insert(index.relation, values, nulls, &tuple->t_self, heap, check,
                                       index.info);
    return unique || check != UNIQUE_CHECK_PARTIAL;
}

bool insert_plain(Relation heap, const opened_index& index, HeapTuple tuple, bool speculative)
{
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    for (int i = 0; i < index.info->ii_NumIndexAttrs; i++)
        values[i] = heap_getattr(tuple, index.info->ii_IndexAttrNumbers[i], RelationGetDescr(heap),
                                 &nulls[i]);
    return insert_values(heap, index, tuple, values, nulls, speculative);
}

// An index with expressions or a predicate, which the executor has to evaluate.
bool insert_computed(Relation heap, const opened_index& index, HeapTuple tuple, bool speculative)
{
    EState* executor = CreateExecutorState();
    TupleTableSlot* slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
    ExecStoreHeapTuple(tuple, slot, false);
    ExprContext* context = GetPerTupleExprContext(executor);
    context->ecxt_scantuple = slot;

    bool inserted = true;
    if (ExecQual(ExecPrepareQual(index.info->ii_Predicate, executor), context)) {
        Datum values[INDEX_MAX_KEYS];
        bool nulls[INDEX_MAX_KEYS];
        FormIndexDatum(index.info, slot, executor, values, nulls);
        inserted = insert_values(heap, index, tuple, values, nulls, speculative);
    }
    ExecDropSingleTupleTableSlot(slot);
    FreeExecutorState(executor);
    return inserted;
}

bool insert_entry(Relation heap, const opened_index& index, HeapTuple tuple, bool speculative)
{
    return is_plain(index.info) ? insert_plain(heap, index, tuple, speculative)
                                : insert_computed(heap, index, tuple, speculative);
}

} // namespace

bool insert_index_entries(const opened_table& table, HeapTuple tuple, compat::index_need need,
                          bool speculative)
{
    if (need == compat::index_need::none)
        return true;
    bool inserted = true;
    List* indexes = RelationGetIndexList(table.heap);
    ListCell* cell;
    foreach (cell, indexes) {
        opened_index index;
        index.relation = index_open(lfirst_oid(cell), RowExclusiveLock);
        index.info = BuildIndexInfo(index.relation);
        // One that is being built takes entries before it is valid: what it misses now it would
        // miss for ever.
        if (index.info->ii_ReadyForInserts && compat::index_takes(index.info, need))
            inserted = insert_entry(table.heap, index, tuple, speculative);
        index_close(index.relation, NoLock);
        if (!inserted)
            break;
    }
    list_free(indexes);
    return inserted;
}

} // namespace fencelock
