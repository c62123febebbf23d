#include "detached_partitions.hpp"

#include "errors.hpp"
#include "pg_compat.hpp"

namespace fencelock {

namespace {

bool is_guarded(Relation table, Oid guard)
{
    const TriggerDesc* triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
        if (triggers->triggers[i].tgfoid == guard && TRIGGER_FOR_ROW(triggers->triggers[i].tgtype))
            return true;
    return false;
}

// The trigger function; InvalidOid, which no trigger has, where it is not where it should be:
// nobody is to be kept from altering a table by that.
Oid guard_in(Oid schema)
{
    List* name =
        list_make2(makeString(get_namespace_name(schema)), makeString(pstrdup("fence_guard")));
    return LookupFuncName(name, 0, nullptr, true);
}

// Null where it is gone already, as another command of the same transaction may have seen to.
Relation open_named(const RangeVar* name)
{
    return try_relation_open(RangeVarGetRelid(name, AccessShareLock, true), NoLock);
}

void tell_detached(const RangeVar* parent_name, const RangeVar* partition_name, Oid guard)
{
    Relation parent = open_named(parent_name);
    if (parent == nullptr)
        return;
    Relation partition = is_guarded(parent, guard) ? open_named(partition_name) : nullptr;
    if (partition != nullptr) {
        if (!is_guarded(partition, guard))
            report_detached_partition(partition, parent);
        relation_close(partition, NoLock);
    }
    relation_close(parent, NoLock);
}

} // namespace

void tell_detached_partitions(const EventTriggerData* event, Oid schema)
{
    if (!IsA(event->parsetree, AlterTableStmt))
        return;
    auto* statement = reinterpret_cast<const AlterTableStmt*>(event->parsetree);
    ListCell* cell;
    foreach (cell, statement->cmds) {
        auto* command = static_cast<const AlterTableCmd*>(lfirst(cell));
        if (compat::detaches_partition(command->subtype))
            tell_detached(statement->relation,
                          reinterpret_cast<const PartitionCmd*>(command->def)->name,
                          guard_in(schema));
    }
}

} // namespace fencelock
