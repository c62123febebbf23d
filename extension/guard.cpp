#include "guard.hpp"

#include "check.hpp"
#include "claims.hpp"
#include "errors.hpp"
#include "guard_config.hpp"
#include "merge_watch.hpp"
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

// Core tells a constraint's values only to those who may read them; so do we.
bool may_name_resource(const guarded_row& row)
{
    Oid table = RelationGetRelid(row.table);
    if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
        return false;
    if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
        return true;
    const name_template& resource = row.config.resource;
    for (int i = 0; i < resource.part_count; i++) {
        AttrNumber column = resource.parts[i].column;
        if (column != InvalidAttrNumber &&
            pg_attribute_aclcheck(table, column, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
            return false;
    }
    return true;
}

guarded_place place_of(const guarded_row& row)
{
    return {row.table, row.config.token_column, may_name_resource(row)};
}

[[noreturn]] void refuse(const guarded_row& row, std::string_view resource, const verdict& refused)
{
    guarded_place place = place_of(row);
    raise_refusal(refused, resource, &place);
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

// The token by which the row's write presents itself for the resource, in the order stamp, claim,
// setting; no_token where there is none. A stamp beside a claim must not be lower.
token presented_for(const guarded_row& row, std::string_view resource, token stamp)
{
    const claim* claimed = find_claim(resource);
    if (stamp != no_token) {
        if (claimed != nullptr && stamp < claimed->presented)
            refuse(row, resource, {refusal::stale, stamp, claimed->presented});
        return stamp;
    }
    return claimed != nullptr ? claimed->presented : token_in_claims_setting(resource);
}

// Presents the token to the resource's mark.
void enforce(const guarded_row& row, std::string_view resource, token presented)
{
    verdict outcome = present_token(resource, presented, nullptr);
    if (outcome.why != refusal::none)
        refuse(row, resource, outcome);
}

void report_missing(const guarded_row& row, std::string_view resource)
{
    int elevel = row.config.unfenced == unfenced_rule::warn ? WARNING : ERROR;
    report_unfenced(elevel, resource, place_of(row));
}

// The row's own column as a mark: the token must not be lower, or, where ties are rejected, must be
// higher.
void compare_with_row(const guarded_row& row, std::string_view resource, token presented)
{
    token in_row = token_in(row, row.before);
    if (presented < in_row)
        refuse(row, resource, {refusal::stale, presented, in_row});
    if (presented == in_row && row.config.ties == tie_rule::reject)
        refuse(row, resource, {refusal::tied, presented, in_row});
}

// An UPDATE in a table whose rows are their own marks: no second table is touched. What was
// presented is remembered, so that a later write of the transaction finds it, but not as enforced.
void enforce_in_row(const guarded_row& row, std::string_view resource, token presented)
{
    if (presented < 1)
        refuse(row, resource, {refusal::not_positive, presented, no_token});
    compare_with_row(row, resource, presented);
    const claim* claimed = find_claim(resource);
    if (claimed == nullptr || claimed->presented < presented)
        note_claim(resource, presented, nullptr, false);
}

HeapTuple with_token(const guarded_row& row, HeapTuple tuple, token accepted)
{
    AttrNumber column = row.config.token_column;
    if (column == InvalidAttrNumber || token_in(row, row.after) == accepted)
        return tuple;
    int number = column;
    Datum value = Int64GetDatum(accepted);
    bool is_null = false;
    return heap_modify_tuple_by_cols(tuple, RelationGetDescr(row.table), 1, &number, &value,
                                     &is_null);
}

// A row leaves its resource: by DELETE, or by an UPDATE that changes what the resource is named
// after.
bool guard_leaving(const guarded_row& row, std::string_view resource)
{
    token presented = presented_for(row, resource, no_token);
    if (presented == no_token) {
        report_missing(row, resource);
        return false;
    }
    if (row.config.mark == mark_place::row && presented < token_in(row, row.before))
        refuse(row, resource, {refusal::stale, presented, token_in(row, row.before)});
    enforce(row, resource, presented);
    return true;
}

HeapTuple guard_insert(const guarded_row& row)
{
    HeapTuple tuple = row.trigger->tg_trigtuple;
    std::string_view resource = render_resource_name(row.config.resource, row.table, row.after);
    token presented = presented_for(row, resource, stamp_of(row));
    if (presented == no_token) {
        report_missing(row, resource);
        return tuple;
    }
    enforce(row, resource, presented);
    return with_token(row, tuple, presented);
}

HeapTuple guard_delete(const guarded_row& row)
{
    guard_leaving(row, render_resource_name(row.config.resource, row.table, row.before));
    return row.trigger->tg_trigtuple;
}

HeapTuple guard_update(const guarded_row& row)
{
    HeapTuple tuple = row.trigger->tg_newtuple;
    guard_config& config = row.config;
    std::string_view resource = render_resource_name(config.resource, row.table, row.after);
    bool stays = same_template_columns(config.resource, row.before, row.after);
    if (!stays) {
        std::string_view left = render_resource_name(config.resource, row.table, row.before);
        stays = left == resource;
        if (!stays)
            guard_leaving(row, left);
    }

    token presented = presented_for(row, resource, stamp_of(row));
    if (presented == no_token) {
        report_missing(row, resource);
        return tuple;
    }
    if (stays && config.mark == mark_place::row) {
        enforce_in_row(row, resource, presented);
    } else {
        if (config.ties == tie_rule::reject)
            compare_with_row(row, resource, presented);
        enforce(row, resource, presented);
    }
    return with_token(row, tuple, presented);
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
    if (TRIGGER_FIRED_BY_TRUNCATE(event) && TRIGGER_FIRED_BEFORE(event))
        raise_guard_truncate(table);
    if (!is_row_guard(event))
        raise_guard_protocol();
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
