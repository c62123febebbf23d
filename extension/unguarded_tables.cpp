#include "unguarded_tables.hpp"

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

void tell_if_unguarded(const RangeVar* parent_name, const RangeVar* table_name, Oid schema,
                       void (*report)(Relation table, Relation parent))
{
    Relation parent = open_named(parent_name);
    if (parent == nullptr)
        return;
    Oid guard = guard_in(schema);
    Relation table = is_guarded(parent, guard) ? open_named(table_name) : nullptr;
    if (table != nullptr) {
        if (!is_guarded(table, guard))
            report(table, parent);
        relation_close(table, NoLock);
    }
    relation_close(parent, NoLock);
}

void look_at_create(const CreateStmt* statement, Oid schema)
{
    ListCell* cell;
    foreach (cell, statement->inhRelations) {
        const auto* parent = static_cast<const RangeVar*>(lfirst(cell));
        tell_if_unguarded(parent, statement->relation, schema, report_unguarded_child);
    }
}

void look_at_alter(const AlterTableStmt* statement, Oid schema)
{
    ListCell* cell;
    foreach (cell, statement->cmds) {
        const auto* command = static_cast<const AlterTableCmd*>(lfirst(cell));
        if (compat::detaches_partition(command->subtype))
            tell_if_unguarded(statement->relation,
                              reinterpret_cast<const PartitionCmd*>(command->def)->name, schema,
                              report_detached_partition);
        else if (command->subtype == AT_AddInherit)
            tell_if_unguarded(reinterpret_cast<const RangeVar*>(command->def), statement->relation,
                              schema, report_unguarded_child);
    }
}

} // namespace

void tell_unguarded_tables(const EventTriggerData* event, Oid schema)
{
    if (IsA(event->parsetree, CreateStmt))
        look_at_create(reinterpret_cast<const CreateStmt*>(event->parsetree), schema);
    else if (IsA(event->parsetree, AlterTableStmt))
        look_at_alter(reinterpret_cast<const AlterTableStmt*>(event->parsetree), schema);
}

} // namespace fencelock
