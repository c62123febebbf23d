// What is wrong with a guard's arguments, or with a row that it can't name.

#include "errors.hpp"

#include "resource_name.hpp"

namespace fencelock {

void raise_guard_argument(Relation table, const char* problem, const char* hint)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("bad argument of the guard on table \"%s\": %s",
                           RelationGetRelationName(table), problem),
                    hint == nullptr ? 0 : errhint("%s", hint), errtable(table)));
    pg_unreachable();
}

void raise_guard_template(Relation table, const char* resource_template, const char* problem)
{
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("bad resource template \"%s\" of the guard on table \"%s\": %s",
                    resource_template, RelationGetRelationName(table), problem),
             errhint("A template is text with columns in braces, as in order:{id}; {{ and }} stand "
                     "for literal braces."),
             errtable(table)));
    pg_unreachable();
}

void raise_guard_no_column(Relation table, const char* column)
{
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_COLUMN),
             errmsg("column \"%s\" that the guard uses does not exist in table \"%s\"", column,
                    RelationGetRelationName(table)),
             errhint("Name a column that the table has; where it was renamed, attach the guard "
                     "again with the new name."),
             errtable(table)));
    pg_unreachable();
}

void raise_guard_token_type(Relation table, AttrNumber column)
{
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(column));
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("token column \"%s\" of table \"%s\" has type %s, but must have type bigint",
                    NameStr(attribute->attname), RelationGetRelationName(table),
                    format_type_be(attribute->atttypid)),
             errhint("Change its type, or name another column as the token column."),
             errtablecol(table, column)));
    pg_unreachable();
}

void raise_guard_generated_column(Relation table, AttrNumber column)
{
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(column));
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("a guard cannot use generated column \"%s\" of table \"%s\"",
                    NameStr(attribute->attname), RelationGetRelationName(table)),
             errdetail("Generated columns are computed after the guard has run."),
             errhint("Name the columns that it is generated from."), errtablecol(table, column)));
    pg_unreachable();
}

void raise_guard_default_token(Relation table, AttrNumber column)
{
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(column));
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("token column \"%s\" of table \"%s\" has a default that is a token",
                    NameStr(attribute->attname), RelationGetRelationName(table)),
             errdetail("An INSERT that forgets its token would present that one."),
             errhint("Drop the default or the identity property (NULL and 0 may stay), or use "
                     "require=claim."),
             errtablecol(table, column)));
    pg_unreachable();
}

void raise_guard_relation_kind(Relation table)
{
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("\"%s\" cannot be guarded: it is not a table of this database",
                           RelationGetRelationName(table)),
                    errhint("Guard the table that the rows are stored in."), errtable(table)));
    pg_unreachable();
}

void raise_guard_resource_length(Relation table, size_t length)
{
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
         errmsg("the resource name of a row of table \"%s\" has %zu bytes, but must have 1 to %d",
                RelationGetRelationName(table), length, static_cast<int>(max_resource_bytes)),
         errhint("Name the resource after shorter columns."), errtable(table)));
    pg_unreachable();
}

void raise_guard_null_column(Relation table, AttrNumber column)
{
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(column));
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("column \"%s\" of table \"%s\" is NULL, so the row has no resource name",
                           NameStr(attribute->attname), RelationGetRelationName(table)),
                    errhint("Columns in the guard's resource template should be NOT NULL."),
                    errtablecol(table, column)));
    pg_unreachable();
}

void raise_not_row_of(Oid table)
{
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("not a row of the table with OID %u", table)));
    pg_unreachable();
}

void raise_guard_protocol()
{
    ereport(ERROR,
            (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
             errmsg("fence_guard must be called as a BEFORE INSERT OR UPDATE OR DELETE trigger FOR "
                    "EACH ROW, or as a BEFORE TRUNCATE trigger"),
             errhint("fence_attach creates both.")));
    pg_unreachable();
}

void raise_event_trigger_protocol()
{
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("fence_tell_unguarded must be called as an event trigger")));
    pg_unreachable();
}

void report_detached_partition(Relation partition, Relation parent)
{
    ereport(
        WARNING,
        (errmsg("table \"%s\" is not guarded any more", RelationGetRelationName(partition)),
         errdetail("It was detached from guarded table \"%s\".", RelationGetRelationName(parent)),
         errhint(
             "Call fence_attach for it where it is still written to (with mark=row, if that was "
             "so, and a template of its own then), else fence_detach: TRUNCATE of it is still "
             "refused."),
         errtable(partition)));
}

void report_unguarded_child(Relation child, Relation parent)
{
    ereport(WARNING, (errmsg("table \"%s\" inherits from guarded table \"%s\" and has no guard",
                             RelationGetRelationName(child), RelationGetRelationName(parent)),
                      child->rd_rel->relkind == RELKIND_FOREIGN_TABLE
                          ? errhint("A foreign table cannot be guarded: keep writers from it.")
                          : errhint("Call fence_attach for it as well, with the same arguments."),
                      errtable(child)));
}

void raise_guard_truncate(Relation table)
{
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("cannot truncate table \"%s\" because it is guarded",
                           RelationGetRelationName(table)),
                    errdetail("TRUNCATE touches rows without any fencing token."),
                    errhint("DELETE with a claim, or take the guard off with fence_detach first."),
                    errtable(table)));
    pg_unreachable();
}

} // namespace fencelock
