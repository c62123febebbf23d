#include "row_resource.hpp"

#include "errors.hpp"
#include "guard_config.hpp"

namespace fencelock {

namespace {

// Kept between two calls, which may come with other arguments or after a change of the table.
struct kept_template {
    Oid table;
    uint64 table_changes;
    ArrayType* arguments;
    guard_config config;
};

bool is_same(const ArrayType* one, const ArrayType* other)
{
    return VARSIZE_ANY(one) == VARSIZE_ANY(other) && memcmp(one, other, VARSIZE_ANY(one)) == 0;
}

kept_template& compile(FmgrInfo* called_by, Relation table, ArrayType* arguments)
{
    MemoryContext caller = MemoryContextSwitchTo(called_by->fn_mcxt);
    auto* kept = static_cast<kept_template*>(palloc(sizeof(kept_template)));
    kept->table = RelationGetRelid(table);
    kept->table_changes = table_changes();
    kept->arguments = static_cast<ArrayType*>(palloc(VARSIZE_ANY(arguments)));
    memcpy(kept->arguments, arguments, VARSIZE_ANY(arguments));
    kept->config = compile_guard_config(table, kept->arguments);
    called_by->fn_extra = kept;
    MemoryContextSwitchTo(caller);
    return *kept;
}

kept_template& template_of(FmgrInfo* called_by, Relation table, ArrayType* arguments)
{
    auto* kept = static_cast<kept_template*>(called_by->fn_extra);
    bool good = kept != nullptr && kept->table == RelationGetRelid(table) &&
                kept->table_changes == table_changes() && is_same(kept->arguments, arguments);
    return good ? *kept : compile(called_by, table, arguments);
}

} // namespace

std::string_view resource_of_row(FmgrInfo* called_by, Oid table_oid, ArrayType* arguments,
                                 HeapTupleHeader row, name_buffer& buffer)
{
    if (HeapTupleHeaderGetTypeId(row) != get_rel_type_id(table_oid))
        raise_not_row_of(table_oid);
    Relation table = relation_open(table_oid, AccessShareLock);
    kept_template& kept = template_of(called_by, table, arguments);
    HeapTupleData tuple{};
    tuple.t_len = HeapTupleHeaderGetDatumLength(row);
    tuple.t_data = row;
    TupleTableSlot* slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
    ExecStoreHeapTuple(&tuple, slot, false);
    std::string_view name = render_resource_name(kept.config.resource, table, slot, buffer);
    ExecDropSingleTupleTableSlot(slot);
    relation_close(table, NoLock);
    return name;
}

} // namespace fencelock
