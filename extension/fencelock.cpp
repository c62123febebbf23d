// The wall between SQL and the extension: everything that PostgreSQL calls by name. Each function
// unpacks its arguments and calls one function of the modules below.

#include "check.hpp"
#include "claims.hpp"
#include "errors.hpp"
#include "guard.hpp"
#include "guard_config.hpp"
#include "history.hpp"
#include "installation.hpp"
#include "issuer_store.hpp"
#include "mark_store.hpp"
#include "merge_watch.hpp"
#include "pg.hpp"
#include "pg_compat.hpp"
#include "prune.hpp"
#include "receipt.hpp"
#include "refusals.hpp"
#include "resource_name.hpp"
#include "row_resource.hpp"
#include "settings.hpp"
#include "stat.hpp"
#include "token_column.hpp"
#include "unguarded_tables.hpp"

FENCELOCK_EXPORTS_BEGIN
extern "C" {

FENCELOCK_MODULE_MAGIC;

void _PG_init(void);

PG_FUNCTION_INFO_V1(fence_check);
PG_FUNCTION_INFO_V1(fence_try);
PG_FUNCTION_INFO_V1(fence_token);
PG_FUNCTION_INFO_V1(fence_issue);
PG_FUNCTION_INFO_V1(fence_acquire);
PG_FUNCTION_INFO_V1(fence_renew);
PG_FUNCTION_INFO_V1(fence_release);
PG_FUNCTION_INFO_V1(fence_history);
PG_FUNCTION_INFO_V1(fence_receipt);
PG_FUNCTION_INFO_V1(fence_outcome);
PG_FUNCTION_INFO_V1(fence_guard);
PG_FUNCTION_INFO_V1(fence_validate_guard);
PG_FUNCTION_INFO_V1(fence_resource_name);
PG_FUNCTION_INFO_V1(fence_own_mark);
PG_FUNCTION_INFO_V1(fence_raise_mark);
PG_FUNCTION_INFO_V1(fence_tell_unguarded);
PG_FUNCTION_INFO_V1(fence_prune);
PG_FUNCTION_INFO_V1(fence_reset);
PG_FUNCTION_INFO_V1(fence_new_generation);
PG_FUNCTION_INFO_V1(fence_stat_counters);

} // extern "C"
FENCELOCK_EXPORTS_END

namespace fencelock {

namespace {

const text* optional_text(FunctionCallInfo fcinfo, int number)
{
    return PG_ARGISNULL(number) ? nullptr : PG_GETARG_TEXT_PP(number);
}

const text* required_text(FunctionCallInfo fcinfo, int number, const char* name)
{
    if (PG_ARGISNULL(number))
        raise_null_argument(name);
    return PG_GETARG_TEXT_PP(number);
}

int64 required_bigint(FunctionCallInfo fcinfo, int number, const char* name)
{
    if (PG_ARGISNULL(number))
        raise_null_argument(name);
    return PG_GETARG_INT64(number);
}

std::string_view resource_argument(FunctionCallInfo fcinfo)
{
    std::string_view resource = view_of(required_text(fcinfo, 0, "resource"));
    require_resource_name(resource);
    return resource;
}

// Owners and tickets are kept in rows of ours, which must stay small enough to need no TOAST.
const text* require_short(const text* value, const char* name)
{
    if (value != nullptr) {
        size_t length = view_of(value).size();
        if (length < 1 || length > max_resource_bytes)
            raise_bad_length(name, length);
    }
    return value;
}

// Reads an interval as extract(epoch FROM ...) does: a year has 365.25 days, another month 30. In
// microseconds; false where it is not between least and that many years.
bool span_between(const Interval* interval, int64 least, int64 years, int64& span)
{
    constexpr int64 year = INT64CONST(1461) * USECS_PER_DAY / 4;
    int64 longest = years * year;
    // The fields first, so that the sum can't overflow.
    auto within = [](int64 value, int64 limit) { return -limit <= value && value <= limit; };
    if (!within(interval->month, years * MONTHS_PER_YEAR) ||
        !within(interval->day, longest / USECS_PER_DAY) || !within(interval->time, longest))
        return false;
    span = interval->month / MONTHS_PER_YEAR * year +
           (interval->month % MONTHS_PER_YEAR * INT64CONST(30) + interval->day) * USECS_PER_DAY +
           interval->time;
    return least <= span && span <= longest;
}

int64 ttl_argument(FunctionCallInfo fcinfo, int number)
{
    if (PG_ARGISNULL(number))
        raise_null_argument("ttl");
    int64 span;
    if (!span_between(PG_GETARG_INTERVAL_P(number), 1000, 1, span))
        raise_bad_ttl();
    return span;
}

int64 idle_argument(FunctionCallInfo fcinfo)
{
    if (PG_ARGISNULL(0))
        raise_null_argument("older_than");
    int64 span;
    if (!span_between(PG_GETARG_INTERVAL_P(0), 0, 100, span))
        raise_bad_idle_time();
    return span;
}

void require_superuser(const char* function)
{
    if (!superuser())
        raise_superuser_required(function);
}

ArrayType* template_columns(const name_template& compiled)
{
    int count = compiled.column_count;
    Datum* columns = static_cast<Datum*>(palloc(sizeof(Datum) * std::max(count, 1)));
    for (int i = 0; i < count; i++)
        columns[i] = Int16GetDatum(compiled.columns[i].number);
    return construct_array(columns, count, INT2OID, sizeof(int16), true, TYPALIGN_SHORT);
}

// What every function that writes does first.
void begin_write(FunctionCallInfo fcinfo, const char* function)
{
    locate_installation(fcinfo->flinfo->fn_oid);
    require_writable(function);
}

verdict check_arguments(FunctionCallInfo fcinfo, std::string_view& resource)
{
    resource = resource_argument(fcinfo);
    token presented = required_bigint(fcinfo, 1, "token");
    const text* owner = require_short(optional_text(fcinfo, 2), "owner");
    return present_token(resource, presented, owner, nullptr);
}

} // namespace

} // namespace fencelock

using namespace fencelock;

extern "C" {

void _PG_init(void)
{
    define_settings();
    watch_installation();
    watch_guarded_tables();
    watch_transactions();
    watch_merges();
    prepare_stat();
}

Datum fence_check(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_check()");
    std::string_view resource;
    verdict outcome = check_arguments(fcinfo, resource);
    if (outcome.why != refusal::none)
        refuse_token(outcome, resource, nullptr);
    PG_RETURN_BOOL(true); // also where a refusal was only warned of: the caller goes on as before
}

Datum fence_try(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_try()");
    std::string_view resource;
    verdict outcome = check_arguments(fcinfo, resource);
    bool stale = outcome.why == refusal::stale || outcome.why == refusal::outclaimed ||
                 outcome.why == refusal::pruned || outcome.why == refusal::retired;
    if (stale)
        count_event(stat_event::stale);
    else if (outcome.why != refusal::none)
        refuse_token(outcome, resource, nullptr);
    PG_RETURN_BOOL(outcome.why == refusal::none);
}

Datum fence_token(PG_FUNCTION_ARGS)
{
    locate_installation(fcinfo->flinfo->fn_oid);
    token mark = mark_of(resource_argument(fcinfo));
    if (mark == no_token)
        PG_RETURN_NULL();
    PG_RETURN_INT64(mark);
}

Datum fence_issue(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_issue()");
    std::string_view resource = resource_argument(fcinfo);
    int64 n = required_bigint(fcinfo, 1, "n");
    token above = required_bigint(fcinfo, 2, "above");
    const text* ticket = require_short(optional_text(fcinfo, 3), "ticket");
    if (n < 1 || n > generation_size)
        raise_bad_reservation_size(n, resource);
    if (above < 0)
        raise_negative_above(above, resource);
    PG_RETURN_INT64(reserve_tokens(resource, n, above, ticket));
}

Datum fence_acquire(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_acquire()");
    std::string_view resource = resource_argument(fcinfo);
    const text* owner = require_short(required_text(fcinfo, 1, "owner"), "owner");
    token granted = acquire_lease(resource, owner, ttl_argument(fcinfo, 2));
    if (granted == no_token)
        PG_RETURN_NULL();
    PG_RETURN_INT64(granted);
}

Datum fence_renew(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_renew()");
    std::string_view resource = resource_argument(fcinfo);
    const text* owner = require_short(required_text(fcinfo, 1, "owner"), "owner");
    token held = required_bigint(fcinfo, 2, "token");
    PG_RETURN_BOOL(renew_lease(resource, owner, held, ttl_argument(fcinfo, 3)));
}

Datum fence_release(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_release()");
    std::string_view resource = resource_argument(fcinfo);
    const text* owner = require_short(required_text(fcinfo, 1, "owner"), "owner");
    token held = required_bigint(fcinfo, 2, "token");
    PG_RETURN_BOOL(release_lease(resource, owner, held));
}

Datum fence_history(PG_FUNCTION_ARGS)
{
    locate_installation(fcinfo->flinfo->fn_oid);
    PG_RETURN_TEXT_P(cstring_to_text(history_id()));
}

Datum fence_receipt(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_receipt()");
    PG_RETURN_TEXT_P(cstring_to_text(receipt_of_transaction()));
}

Datum fence_outcome(PG_FUNCTION_ARGS)
{
    switch (fate_of(view_of(required_text(fcinfo, 0, "receipt")))) {
    case transaction_fate::committed:
        PG_RETURN_TEXT_P(cstring_to_text("committed"));
    case transaction_fate::aborted:
        PG_RETURN_TEXT_P(cstring_to_text("aborted"));
    case transaction_fate::in_progress:
        PG_RETURN_TEXT_P(cstring_to_text("in progress"));
    case transaction_fate::unknown:
        break;
    }
    PG_RETURN_NULL();
}

Datum fence_guard(PG_FUNCTION_ARGS)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        raise_guard_protocol();
    locate_installation(fcinfo->flinfo->fn_oid);
    HeapTuple written = run_guard(reinterpret_cast<TriggerData*>(fcinfo->context));
    PG_RETURN_POINTER(written);
}

// For fence_attach: raises what fence_guard would at its first firing, and where the token column
// supplies tokens by itself; returns the template's columns.
Datum fence_validate_guard(PG_FUNCTION_ARGS)
{
    Relation table = relation_open(PG_GETARG_OID(0), AccessShareLock);
    guard_config config = compile_guard_config(table, PG_GETARG_ARRAYTYPE_P(1));
    if (config.require == stamp_rule::any && config.token_column != InvalidAttrNumber)
        require_no_default_token(table, config.token_column);
    relation_close(table, NoLock);
    PG_RETURN_ARRAYTYPE_P(template_columns(config.resource));
}

// For fence_attach, where a table's marks move.
Datum fence_resource_name(PG_FUNCTION_ARGS)
{
    name_buffer buffer;
    std::string_view name =
        resource_of_row(fcinfo->flinfo, PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1),
                        PG_GETARG_HEAPTUPLEHEADER(2), buffer);
    PG_RETURN_TEXT_P(text_of(name));
}

Datum fence_own_mark(PG_FUNCTION_ARGS)
{
    locate_installation(fcinfo->flinfo->fn_oid);
    PG_RETURN_INT64(own_mark_of(resource_argument(fcinfo)));
}

Datum fence_raise_mark(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_raise_mark()");
    hashed_name resource = resource_argument(fcinfo);
    token least = required_bigint(fcinfo, 1, "mark");
    if (least < 0)
        raise_bad_mark(least, resource);
    // What this transaction has claimed counts without another look at the mark.
    token claimed = claim_for(resource).presented;
    if (claimed != no_token && claimed < least)
        report_refusal(ERROR, {refusal::stale, claimed, least}, resource, nullptr);
    raise_mark_to(resource, least);
    PG_RETURN_VOID();
}

Datum fence_tell_unguarded(PG_FUNCTION_ARGS)
{
    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        raise_event_trigger_protocol();
    tell_unguarded_tables(reinterpret_cast<EventTriggerData*>(fcinfo->context),
                          get_func_namespace(fcinfo->flinfo->fn_oid));
    PG_RETURN_NULL();
}

Datum fence_prune(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_prune()");
    PG_RETURN_INT64(prune_idle_resources(idle_argument(fcinfo)));
}

Datum fence_reset(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_reset()");
    require_superuser("fence_reset()");
    std::string_view resource = resource_argument(fcinfo);
    token mark = required_bigint(fcinfo, 1, "mark");
    if (mark < 0)
        raise_bad_mark(mark, resource);
    token before = mark_of(resource);
    set_mark(resource, mark);
    log_reset(resource, before, mark);
    PG_RETURN_VOID();
}

Datum fence_new_generation(PG_FUNCTION_ARGS)
{
    begin_write(fcinfo, "fence_new_generation()");
    require_superuser("fence_new_generation()");
    int64 generation = start_generation_after(current_generation());
    ForceSyncCommit();
    PG_RETURN_INT64(generation);
}

// One row a database: its OID, the counters in the order of stat_event, and since when.
Datum fence_stat_counters(PG_FUNCTION_ARGS)
{
    auto* stats = static_cast<database_stat*>(palloc(sizeof(database_stat) * stat_capacity));
    int count = read_stat(stats, stat_capacity);
    if (count < 0) {
        report_no_stat();
        count = 0;
    }
    compat::begin_set_result(fcinfo);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    for (int i = 0; i < count; i++) {
        Datum values[stat_event_count + 2];
        bool nulls[stat_event_count + 2] = {};
        values[0] = ObjectIdGetDatum(stats[i].database);
        for (int j = 0; j < stat_event_count; j++)
            values[1 + j] = Int64GetDatum(stats[i].counts[j]);
        values[stat_event_count + 1] = TimestampTzGetDatum(stats[i].since);
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}

} // extern "C"
