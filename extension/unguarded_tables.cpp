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
// nobody is to be kept from altering a table by that. Nor by lacking rights on the schema, which
// whoever has nothing to do with guarded tables needs none on: a lookup by name would ask for them.
Oid guard_in(Oid schema)
{
    return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("fence_guard"),
                           PointerGetDatum(buildoidvector(nullptr, 0)), ObjectIdGetDatum(schema));
}

using reporter = void (*)(Relation table, Relation parent);

// Either is null where it is gone already, as another command of the same transaction may have seen
// to.
void tell_if_unguarded(Relation parent, Relation table, Oid guard, reporter report)
{
    if (parent != nullptr && table != nullptr && is_guarded(parent, guard) &&
        !is_guarded(table, guard))
        report(table, parent);
    for (Relation relation : {parent, table})
        if (relation != nullptr)
            relation_close(relation, NoLock);
}

Relation open_named(const RangeVar* name)
{
    return try_relation_open(RangeVarGetRelid(name, AccessShareLock, true), NoLock);
}

Oid oid_in(const SPITupleTable* rows, uint64 row, int column)
{
    bool is_null;
    return DatumGetObjectId(SPI_getbinval(rows->vals[row], rows->tupdesc, column, &is_null));
}

// What was created, and what it inherits from, is asked by OID: the names in the statement may mean
// something else by now (in CREATE SCHEMA they are looked up in the new schema first), or mean a
// table that was there before (IF NOT EXISTS). Whatever the session's search_path, each name in the
// query is PostgreSQL's own.
void look_at_created(Oid guard)
{
    constexpr const char* query =
        "SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_event_trigger_ddl_commands() c"
        " JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) c.objid"
        " WHERE c.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
        " AND c.command_tag OPERATOR(pg_catalog.=) ANY ('{CREATE TABLE,CREATE FOREIGN TABLE}')"
        " ORDER BY i.inhrelid, i.inhseqno";
    SPI_connect();
    if (SPI_execute(query, false, 0) != SPI_OK_SELECT)
        elog(ERROR, "fencelock: cannot read what was created");
    for (uint64 row = 0; row < SPI_processed; row++) {
        Relation table = try_relation_open(oid_in(SPI_tuptable, row, 1), AccessShareLock);
        Relation parent = try_relation_open(oid_in(SPI_tuptable, row, 2), AccessShareLock);
        tell_if_unguarded(parent, table, guard, report_unguarded_child);
    }
    SPI_finish();
}

void look_at_alter(const AlterTableStmt* statement, Oid guard)
{
    ListCell* cell;
    foreach (cell, statement->cmds) {
        const auto* command = static_cast<const AlterTableCmd*>(lfirst(cell));
        if (compat::detaches_partition(command->subtype))
            tell_if_unguarded(open_named(statement->relation),
                              open_named(reinterpret_cast<const PartitionCmd*>(command->def)->name),
                              guard, report_detached_partition);
        else if (command->subtype == AT_AddInherit)
            tell_if_unguarded(open_named(reinterpret_cast<const RangeVar*>(command->def)),
                              open_named(statement->relation), guard, report_unguarded_child);
    }
}

// Whether it may create a table that inherits: most don't, and cost no query.
bool may_create_child(const Node* statement)
{
    if (IsA(statement, CreateSchemaStmt))
        return reinterpret_cast<const CreateSchemaStmt*>(statement)->schemaElts != NIL;
    if (IsA(statement, CreateStmt))
        return reinterpret_cast<const CreateStmt*>(statement)->inhRelations != NIL;
    return IsA(statement, CreateForeignTableStmt) &&
           reinterpret_cast<const CreateForeignTableStmt*>(statement)->base.inhRelations != NIL;
}

} // namespace

void tell_unguarded_tables(const EventTriggerData* event, Oid schema)
{
    // An event trigger that was made by hand may fire for other events, some without a statement.
    if (strcmp(event->event, "ddl_command_end") != 0)
        return;
    if (may_create_child(event->parsetree))
        look_at_created(guard_in(schema));
    else if (IsA(event->parsetree, AlterTableStmt))
        look_at_alter(reinterpret_cast<const AlterTableStmt*>(event->parsetree), guard_in(schema));
}

} // namespace fencelock
