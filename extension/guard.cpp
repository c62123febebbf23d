#include "guard.hpp"

#include "check.hpp"
#include "claims.hpp"
#include "errors.hpp"
#include "guard_config.hpp"
#include "mark_store.hpp"
#include "merge_watch.hpp"
#include "refusals.hpp"
#include "settings.hpp"
#include "token_column.hpp"

namespace fencelock {

namespace {

// One row on its way through the guard.
struct guarded_row {
    TriggerData* trigger;
    Relation table;
    guard_config& config;
    TupleTableSlot* before; // null for INSERT
    TupleTableSlot* after;  // null for DELETE
    token token_before;     // in its token column; NULL and 0 are no token
    token token_after;
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
    for (int i = 0; i < resource.column_count; i++) {
        int index = AttrNumberGetAttrOffset(resource.columns[i].number);
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(row.table), index);
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

stamp_use use_of_stamp(const guarded_row& row)
{
    if (row.after == nullptr || row.config.token_column == InvalidAttrNumber)
        return stamp_use::none;
    if (row.config.require == stamp_rule::claim)
        return stamp_use::claims_only;
    bool kept = row.before != nullptr && row.token_after == row.token_before;
    return kept && inside_merge() ? stamp_use::only_if_changed : stamp_use::possible;
}

guarded_place place_of(const guarded_row& row)
{
    return {row.table, row.config.token_column, may_name_resource(row), use_of_stamp(row)};
}

guarded_place find_place(const void* row)
{
    return place_of(*static_cast<const guarded_row*>(row));
}

// Returns only where enforcement is relaxed; the row is then written as it is.
void refuse(const guarded_row& row, std::string_view resource, const verdict& refused)
{
    guarded_place place = place_of(row);
    refuse_token(refused, resource, &place);
}

token token_in_old(const guarded_row& row)
{
    if (row.config.token_column == InvalidAttrNumber)
        return no_token;
    bool is_null;
    Datum value = heap_getattr(row.trigger->tg_trigtuple, row.config.token_column,
                               RelationGetDescr(row.table), &is_null);
    return is_null ? no_token : DatumGetInt64(value);
}

token token_in_new(const guarded_row& row)
{
    if (row.config.token_column == InvalidAttrNumber)
        return no_token;
    bool is_null;
    Datum value = slot_getattr(row.after, row.config.token_column, &is_null);
    return is_null ? no_token : DatumGetInt64(value);
}

// The token that the statement itself writes into the token column.
token stamp_of(const guarded_row& row)
{
    if (row.config.require == stamp_rule::claim || row.after == nullptr)
        return no_token;
    token written = row.token_after;
    if (row.before == nullptr || written != row.token_before)
        return written;
    // The old value is a stamp where the SET list names the column. An earlier trigger's change
    // does not show in the list, but has changed the value.
    int member = row.config.token_column - FirstLowInvalidHeapAttributeNumber;
    bool named = bms_is_member(member, row.trigger->tg_updatedcols) && !inside_merge();
    return named ? written : no_token;
}

// What a write presents for one resource, on its way to being accepted.
struct presented_token {
    hashed_name resource;
    bool leaves; // the row leaves the resource, so that a stamp is not meant for it
    token value;
    claim* claimed; // the transaction's, once it was looked for
};

presented_token presented_for(const hashed_name& resource, bool leaves)
{
    return {resource, leaves, no_token, nullptr};
}

// Returns only where that is no more than warned of.
void refuse_unfenced_row(const guarded_row& row, const presented_token& presented)
{
    guarded_place place = place_of(row);
    if (presented.leaves)
        place.stamp = stamp_use::none;
    refuse_unfenced(row.config.unfenced == unfenced_rule::warn, presented.resource, place);
}

// The token by which the row's write presents itself for the resource, in the order stamp, claim,
// setting. False where there is none, or where a stamp is lower than the claim beside it; that has
// been reported then.
bool find_presented(const guarded_row& row, presented_token& presented)
{
    token stamp = presented.leaves ? no_token : stamp_of(row);
    presented.claimed = &claim_for(presented.resource);
    token claimed = presented.claimed->presented;
    if (stamp != no_token && claimed != no_token && stamp < claimed) {
        refuse(row, presented.resource, {refusal::outclaimed, stamp, claimed});
        return false;
    }
    presented.value = stamp != no_token     ? stamp
                      : claimed != no_token ? claimed
                                            : token_in_claims_setting(presented.resource);
    if (presented.value != no_token)
        return true;
    refuse_unfenced_row(row, presented);
    return false;
}

// The row's own column as a mark: the token must not be lower, or, where ties are rejected, must be
// higher.
bool is_accepted_by_row(const guarded_row& row, tie_rule ties, const presented_token& presented)
{
    token in_row = row.token_before;
    if (presented.value > in_row || (presented.value == in_row && ties == tie_rule::accept))
        return true;
    refusal why = presented.value < in_row ? refusal::stale : refusal::tied;
    refuse(row, presented.resource, {why, presented.value, in_row});
    return false;
}

bool is_accepted_by_mark(const guarded_row& row, const presented_token& presented)
{
    place_source guard{find_place, &row};
    verdict outcome = present_token(presented.resource, presented.value, nullptr, &guard);
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
        refuse(row, presented.resource, {refusal::not_positive, presented.value, no_token});
        return false;
    }
    if (!is_accepted_by_row(row, row.config.ties, presented))
        return false;
    if (presented.claimed->presented < presented.value)
        note_claim(*presented.claimed, presented.value, nullptr, false,
                   presented.claimed->siblings_unseen);
    return true;
}

// The token column shows the token that was accepted with the row's newest write. A write that
// passes without one, where enforcement is relaxed, must not change that: the column keeps what it
// had.
HeapTuple with_token(const guarded_row& row, HeapTuple tuple, token value)
{
    AttrNumber column = row.config.token_column;
    if (column == InvalidAttrNumber || row.token_after == value)
        return tuple;
    return write_token_column(tuple, row.table, column, value);
}

// A row leaves its resource: by DELETE, or by an UPDATE that changes what the resource is named
// after. Where it may do so without being accepted, because enforcement is relaxed, its mark stays
// behind all the same.
bool guard_leaving(const guarded_row& row, const hashed_name& resource)
{
    presented_token presented = presented_for(resource, true);
    if (row.config.mark == mark_place::resource)
        return find_presented(row, presented) && is_accepted_by_mark(row, presented);
    if (find_presented(row, presented) && is_accepted_by_row(row, tie_rule::accept, presented) &&
        is_accepted_by_mark(row, presented))
        return true;
    if (row.token_before > no_token)
        raise_mark_to(resource, row.token_before);
    return false;
}

// What a row's column shows where it comes to a resource without being accepted, because
// enforcement is relaxed: where rows are their own marks, the mark that it meets there.
token token_of_arrival(const guarded_row& row, const hashed_name& resource)
{
    return row.config.mark == mark_place::row ? mark_of(resource) : no_token;
}

HeapTuple guard_insert(const guarded_row& row)
{
    HeapTuple tuple = row.trigger->tg_trigtuple;
    name_buffer buffer;
    presented_token presented = presented_for(
        render_resource_name(row.config.resource, row.table, row.after, buffer), false);
    bool accepted = find_presented(row, presented) && is_accepted_by_mark(row, presented);
    return with_token(row, tuple,
                      accepted ? presented.value : token_of_arrival(row, presented.resource));
}

HeapTuple guard_delete(const guarded_row& row)
{
    name_buffer buffer;
    (void)guard_leaving(row,
                        render_resource_name(row.config.resource, row.table, row.before, buffer));
    return row.trigger->tg_trigtuple;
}

// Lets the row go from the resource that it belonged to, if that is another one; stays tells.
bool guard_staying(const guarded_row& row, std::string_view resource, bool& stays)
{
    name_template& names = row.config.resource;
    stays = same_template_columns(names, row.trigger->tg_trigtuple, row.after);
    if (stays)
        return true;
    name_buffer buffer;
    hashed_name left = render_resource_name(names, row.table, row.before, buffer);
    stays = left.text == resource;
    return stays || guard_leaving(row, left);
}

bool is_accepted_update(const guarded_row& row, presented_token& presented, bool& stays)
{
    if (!guard_staying(row, presented.resource, stays))
        return false;
    if (!find_presented(row, presented))
        return false;
    if (stays && row.config.mark == mark_place::row)
        return is_accepted_in_place(row, presented);
    return (row.config.ties == tie_rule::accept ||
            is_accepted_by_row(row, tie_rule::reject, presented)) &&
           is_accepted_by_mark(row, presented);
}

HeapTuple guard_update(const guarded_row& row)
{
    name_buffer buffer;
    presented_token presented = presented_for(
        render_resource_name(row.config.resource, row.table, row.after, buffer), false);
    bool stays;
    bool accepted = is_accepted_update(row, presented, stays);
    token shown = accepted ? presented.value : row.token_before;
    if (!accepted && !stays)
        shown = std::max(shown, token_of_arrival(row, presented.resource));
    return with_token(row, row.trigger->tg_newtuple, shown);
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

    guarded_row row{trigger,
                    table,
                    config_of(table, trigger->tg_trigger),
                    TRIGGER_FIRED_BY_INSERT(event) ? nullptr : trigger->tg_trigslot,
                    TRIGGER_FIRED_BY_INSERT(event)   ? trigger->tg_trigslot
                    : TRIGGER_FIRED_BY_UPDATE(event) ? trigger->tg_newslot
                                                     : nullptr,
                    no_token,
                    no_token};
    if (row.after != nullptr) {
        slot_getsomeattrs(row.after, row.config.last_column); // at once is cheaper than in turn
        row.token_after = token_in_new(row);
    }
    if (row.before != nullptr)
        row.token_before = token_in_old(row);
    if (row.before == nullptr)
        return guard_insert(row);
    return row.after == nullptr ? guard_delete(row) : guard_update(row);
}

} // namespace fencelock
