#include "guard.hpp"

#include "check.hpp"
#include "claims.hpp"
#include "errors.hpp"
#include "guard_config.hpp"
#include "merge_watch.hpp"
#include "refusals.hpp"
#include "settings.hpp"

namespace fencelock {

namespace {

// One row on its way through the guard.
struct guarded_row {
    TriggerData* trigger;
    Relation table;
    guard_config& config;
    TupleTableSlot* before; // null for INSERT
    TupleTableSlot* after;  // null for DELETE
};

// Whose rights decide what an error may say. A foreign key's action runs as the table's owner, but
// the error goes to whoever caused it.
Oid reader()
{
    return InLocalUserIdChange() ? GetOuterUserId() : GetUserId();
}

// Whether the role may read the template's columns in the table, which may be another one with
// columns of these names.
bool may_read_template(const guarded_row& row, Oid table)
{
    if (check_enable_rls(table, reader(), true) == RLS_ENABLED)
        return false;
    if (pg_class_aclcheck(table, reader(), ACL_SELECT) == ACLCHECK_OK)
        return true;
    const name_template& resource = row.config.resource;
    for (int i = 0; i < resource.part_count; i++) {
        AttrNumber column = resource.parts[i].column;
        if (column == InvalidAttrNumber)
            continue;
        Form_pg_attribute attribute =
            TupleDescAttr(RelationGetDescr(row.table), AttrNumberGetAttrOffset(column));
        AttrNumber there = get_attnum(table, NameStr(attribute->attname));
        if (there == InvalidAttrNumber ||
            pg_attribute_aclcheck(table, there, reader(), ACL_SELECT) != ACLCHECK_OK)
            return false;
    }
    return true;
}

// Core tells a constraint's values only to those who may read them; so do we. Who writes through a
// partitioned table has rights on that one.
bool may_name_resource(const guarded_row& row)
{
    Oid table = RelationGetRelid(row.table);
    if (may_read_template(row, table))
        return true;
    if (!row.table->rd_rel->relispartition)
        return false;
    List* ancestors = get_partition_ancestors(table);
    return may_read_template(row, llast_oid(ancestors));
}

guarded_place place_of(const guarded_row& row)
{
    return {row.table, row.config.token_column, may_name_resource(row)};
}

// Returns only where enforcement is relaxed; the row is then written as it is.
void refuse(const guarded_row& row, std::string_view resource, const verdict& refused)
{
    guarded_place place = place_of(row);
    refuse_token(refused, resource, &place);
}

// NULL and 0 are no token.
token token_in(const guarded_row& row, TupleTableSlot* slot)
{
    if (row.config.token_column == InvalidAttrNumber || slot == nullptr)
        return no_token;
    bool is_null;
    Datum value = slot_getattr(slot, row.config.token_column, &is_null);
    return is_null ? no_token : DatumGetInt64(value);
}

// The token that the statement itself writes into the token column.
token stamp_of(const guarded_row& row)
{
    if (row.config.require == stamp_rule::claim || row.after == nullptr)
        return no_token;
    token written = token_in(row, row.after);
    if (row.before == nullptr || written != token_in(row, row.before))
        return written;
    // The old value is a stamp where the SET list names the column. An earlier trigger's change
    // does not show in the list, but has changed the value.
    int member = row.config.token_column - FirstLowInvalidHeapAttributeNumber;
    bool named = bms_is_member(member, row.trigger->tg_updatedcols) && !inside_merge();
    return named ? written : no_token;
}

// What a write presents for one resource, on its way to being accepted.
struct presented_token {
    std::string_view resource;
    token value;
};

// The token by which the row's write presents itself for the resource, in the order stamp, claim,
// setting. False where there is none, or where a stamp is lower than the claim beside it; that has
// been reported then.
bool find_presented(const guarded_row& row, token stamp, presented_token& presented)
{
    const claim* claimed = find_claim(presented.resource);
    if (stamp != no_token && claimed != nullptr && stamp < claimed->presented) {
        refuse(row, presented.resource, {refusal::stale, stamp, claimed->presented, false});
        return false;
    }
    presented.value = stamp != no_token    ? stamp
                      : claimed != nullptr ? claimed->presented
                                           : token_in_claims_setting(presented.resource);
    if (presented.value != no_token)
        return true;
    refuse_unfenced(row.config.unfenced == unfenced_rule::warn, presented.resource, place_of(row));
    return false;
}

// The row's own column as a mark: the token must not be lower, or, where ties are rejected, must be
// higher.
bool is_accepted_by_row(const guarded_row& row, tie_rule ties, const presented_token& presented)
{
    token in_row = token_in(row, row.before);
    if (presented.value > in_row || (presented.value == in_row && ties == tie_rule::accept))
        return true;
    refusal why = presented.value < in_row ? refusal::stale : refusal::tied;
    refuse(row, presented.resource, {why, presented.value, in_row, false});
    return false;
}

bool is_accepted_by_mark(const guarded_row& row, const presented_token& presented)
{
    verdict outcome = present_token(presented.resource, presented.value, nullptr);
    if (outcome.why == refusal::none)
        return true;
    refuse(row, presented.resource, outcome);
    return false;
}

// An UPDATE in a table whose rows are their own marks: no second table is touched. What was
// presented is remembered, so that a later write of the transaction finds it, but not as enforced.
bool is_accepted_in_place(const guarded_row& row, const presented_token& presented)
{
    if (presented.value < 1) {
        refuse(row, presented.resource, {refusal::not_positive, presented.value, no_token, false});
        return false;
    }
    if (!is_accepted_by_row(row, row.config.ties, presented))
        return false;
    const claim* claimed = find_claim(presented.resource);
    if (claimed == nullptr || claimed->presented < presented.value)
        note_claim(presented.resource, presented.value, nullptr, false, false);
    return true;
}

// The token column shows the token that was accepted with the row's newest write. A write that
// passes without one, where enforcement is relaxed, must not change that: the column keeps what it
// had.
HeapTuple with_token(const guarded_row& row, HeapTuple tuple, token value)
{
    AttrNumber column = row.config.token_column;
    if (column == InvalidAttrNumber || token_in(row, row.after) == value)
        return tuple;
    int number = column;
    Datum datum = Int64GetDatum(value);
    bool is_null = value == no_token;
    return heap_modify_tuple_by_cols(tuple, RelationGetDescr(row.table), 1, &number, &datum,
                                     &is_null);
}

// A row leaves its resource: by DELETE, or by an UPDATE that changes what the resource is named
// after.
bool guard_leaving(const guarded_row& row, std::string_view resource)
{
    presented_token presented{resource, no_token};
    return find_presented(row, no_token, presented) &&
           (row.config.mark == mark_place::resource ||
            is_accepted_by_row(row, tie_rule::accept, presented)) &&
           is_accepted_by_mark(row, presented);
}

HeapTuple guard_insert(const guarded_row& row)
{
    HeapTuple tuple = row.trigger->tg_trigtuple;
    presented_token presented{render_resource_name(row.config.resource, row.table, row.after),
                              no_token};
    bool accepted =
        find_presented(row, stamp_of(row), presented) && is_accepted_by_mark(row, presented);
    return with_token(row, tuple, accepted ? presented.value : no_token);
}

HeapTuple guard_delete(const guarded_row& row)
{
    (void)guard_leaving(row, render_resource_name(row.config.resource, row.table, row.before));
    return row.trigger->tg_trigtuple;
}

// Whether the row belongs to the same resource before and after; sets left to the resource that it
// leaves otherwise.
bool stays_in(const guarded_row& row, std::string_view resource, std::string_view& left)
{
    name_template& names = row.config.resource;
    if (same_template_columns(names, row.before, row.after))
        return true;
    left = render_resource_name(names, row.table, row.before);
    return left == resource;
}

bool is_accepted_update(const guarded_row& row, presented_token& presented)
{
    std::string_view left;
    bool stays = stays_in(row, presented.resource, left);
    if (!stays && !guard_leaving(row, left))
        return false;
    if (!find_presented(row, stamp_of(row), presented))
        return false;
    if (stays && row.config.mark == mark_place::row)
        return is_accepted_in_place(row, presented);
    return (row.config.ties == tie_rule::accept ||
            is_accepted_by_row(row, tie_rule::reject, presented)) &&
           is_accepted_by_mark(row, presented);
}

HeapTuple guard_update(const guarded_row& row)
{
    presented_token presented{render_resource_name(row.config.resource, row.table, row.after),
                              no_token};
    bool accepted = is_accepted_update(row, presented);
    return with_token(row, row.trigger->tg_newtuple,
                      accepted ? presented.value : token_in(row, row.before));
}

bool is_row_guard(TriggerEvent event)
{
    return TRIGGER_FIRED_BEFORE(event) && TRIGGER_FIRED_FOR_ROW(event);
}

} // namespace

HeapTuple run_guard(TriggerData* trigger)
{
    TriggerEvent event = trigger->tg_event;
    Relation table = trigger->tg_relation;
    bool before_truncate = TRIGGER_FIRED_BY_TRUNCATE(event) && TRIGGER_FIRED_BEFORE(event);
    if (!before_truncate && !is_row_guard(event))
        raise_guard_protocol();
    if (current_enforcement() == enforcement::off)
        return TRIGGER_FIRED_BY_UPDATE(event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
    if (before_truncate)
        raise_guard_truncate(table);
    require_writable("fence_guard()"); // a temporary table can be written where marks cannot

    guarded_row row{trigger, table, config_of(table, trigger->tg_trigger), trigger->tg_trigslot,
                    trigger->tg_newslot};
    if (TRIGGER_FIRED_BY_INSERT(event)) {
        row.before = nullptr;
        row.after = trigger->tg_trigslot;
        return guard_insert(row);
    }
    if (TRIGGER_FIRED_BY_UPDATE(event))
        return guard_update(row);
    row.after = nullptr;
    return guard_delete(row);
}

} // namespace fencelock
