#include "errors.hpp"

#include "resource_name.hpp"

namespace fencelock {

namespace {

// Names are bytes of the caller's: shown whole (they are at most 1 KiB), never interpreted.
#define VIEW_ARGS(view) static_cast<int>((view).size()), (view).data()

int place_fields(const guarded_place* place)
{
    if (place == nullptr)
        return 0;
    if (place->token_column != InvalidAttrNumber)
        return errtablecol(place->table, place->token_column);
    return errtable(place->table);
}

constexpr const char* stale_hint =
    "Do not retry with this token: acquire the lock again, read again, then write.";

// The numbers stand before the name in each message, so that a program can read them whatever the
// name contains.

void report_stale(int elevel, const verdict& refused, std::string_view resource,
                  const guarded_place* place)
{
    ereport(
        elevel,
        (errcode(sqlstate_stale_fencing_token),
         errmsg("fencing token " INT64_FORMAT " is stale, below the mark " INT64_FORMAT
                " of resource \"%.*s\"",
                refused.presented, refused.bound, VIEW_ARGS(resource)),
         refused.why == refusal::pruned
             ? errdetail("Idle resources were pruned: one that has no mark of its own is measured "
                         "against the highest token that any of them had.")
             : errdetail("A newer holder has presented token " INT64_FORMAT
                         ": the lease that token " INT64_FORMAT " came from is over.",
                         refused.bound, refused.presented),
         errhint(stale_hint), place_fields(place)));
}

void report_outclaimed(int elevel, const verdict& refused, std::string_view resource,
                       const guarded_place* place)
{
    ereport(elevel, (errcode(sqlstate_stale_fencing_token),
                     errmsg("fencing token " INT64_FORMAT " is stale, below the mark " INT64_FORMAT
                            " of resource \"%.*s\"",
                            refused.presented, refused.bound, VIEW_ARGS(resource)),
                     errdetail("This transaction itself has claimed token " INT64_FORMAT
                               ": a lower one comes from a lease that is over.",
                               refused.bound),
                     errhint("Present no other token than that of the newest lock throughout the "
                             "transaction."),
                     place_fields(place)));
}

void report_tied(int elevel, const verdict& refused, std::string_view resource,
                 const guarded_place* place)
{
    ereport(elevel,
            (errcode(sqlstate_stale_fencing_token),
             errmsg("fencing token " INT64_FORMAT " is stale, not above the mark " INT64_FORMAT
                    " of resource \"%.*s\"",
                    refused.presented, refused.bound, VIEW_ARGS(resource)),
             errdetail("The row was written with token " INT64_FORMAT
                       ", and its guard has ties=reject: each write needs a higher token.",
                       refused.bound),
             errhint("Acquire the lock again for each write of this row."), place_fields(place)));
}

void report_retired(int elevel, const verdict& refused, std::string_view resource,
                    const guarded_place* place)
{
    ereport(elevel,
            (errcode(sqlstate_stale_fencing_token),
             errmsg("fencing token " INT64_FORMAT
                    " is stale, below the newest reservation " INT64_FORMAT " of resource \"%.*s\"",
                    refused.presented, refused.bound, VIEW_ARGS(resource)),
             errdetail("Tokens from " INT64_FORMAT
                       " on were reserved since, which retires the earlier ones that had not been "
                       "presented.",
                       refused.bound),
             errhint(stale_hint), place_fields(place)));
}

void report_conflict(int elevel, const verdict& refused, std::string_view resource,
                     const guarded_place* place)
{
    ereport(elevel,
            (errcode(sqlstate_fencing_token_conflict),
             errmsg("fencing token " INT64_FORMAT " of resource \"%.*s\" belongs to another owner",
                    refused.presented, VIEW_ARGS(resource)),
             errdetail("Two owners hold the same number: whatever issued it gave it out twice."),
             errhint("Acquire the lock again for a token of its own, and look at what issues the "
                     "tokens of this resource."),
             place_fields(place)));
}

void report_not_issued(int elevel, const verdict& refused, std::string_view resource,
                       const guarded_place* place)
{
    ereport(elevel,
            (errcode(sqlstate_fencing_token_not_issued),
             errmsg("fencing token " INT64_FORMAT
                    " of resource \"%.*s\" was never issued, the highest issued is " INT64_FORMAT,
                    refused.presented, VIEW_ARGS(resource), refused.bound),
             errdetail("This database issues the tokens of this resource and never handed that one "
                       "out."),
             errhint("Use the token that came with the lock; tokens of other resources, timestamps "
                     "and guesses are refused."),
             place_fields(place)));
}

constexpr const char* not_positive_hint = "Tokens start at 1; 0 and NULL stand for no token.";
constexpr const char* behind_hint =
    "Claim the token in a transaction of its own first, then run this transaction again.";

void report_not_positive(int elevel, const verdict& refused, std::string_view resource,
                         const guarded_place* place)
{
    ereport(elevel,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("fencing token " INT64_FORMAT " for resource \"%.*s\" is not greater than 0",
                    refused.presented, VIEW_ARGS(resource)),
             errhint(not_positive_hint), place_fields(place)));
}

void report_behind(int elevel, const verdict& refused, std::string_view resource,
                   const guarded_place* place)
{
    ereport(
        elevel,
        (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
         errmsg("could not serialize access: the snapshot is older than the claim of fencing "
                "token " INT64_FORMAT " on resource \"%.*s\"",
                refused.presented, VIEW_ARGS(resource)),
         errdetail("The token is accepted, but this transaction would read what was true before "
                   "earlier holders finished."),
         errhint(behind_hint), place_fields(place)));
}

// What an error says to a role that may not read what the resource's name is made of.
struct unnamed_text {
    int sqlstate;
    const char* message; // takes the token and the table
    const char* hint;
};

unnamed_text unnamed_text_of(refusal why)
{
    switch (why) {
    case refusal::conflict:
        return {sqlstate_fencing_token_conflict,
                "fencing token " INT64_FORMAT
                " for this row of table \"%s\" belongs to another owner",
                stale_hint};
    case refusal::not_issued:
        return {sqlstate_fencing_token_not_issued,
                "fencing token " INT64_FORMAT " for this row of table \"%s\" was never issued",
                stale_hint};
    case refusal::not_positive:
        return {ERRCODE_INVALID_PARAMETER_VALUE,
                "fencing token " INT64_FORMAT " for this row of table \"%s\" is not greater than 0",
                not_positive_hint};
    case refusal::behind:
        return {ERRCODE_T_R_SERIALIZATION_FAILURE,
                "could not serialize access: the snapshot is older than the claim of fencing "
                "token " INT64_FORMAT " for this row of table \"%s\"",
                behind_hint};
    default:
        return {sqlstate_stale_fencing_token,
                "fencing token " INT64_FORMAT " is stale for this row of table \"%s\"", stale_hint};
    }
}

// The server's log has it all.
void report_refusal_unnamed(int elevel, const verdict& refused, std::string_view resource,
                            const guarded_place* place)
{
    unnamed_text text = unnamed_text_of(refused.why);
    ereport(
        elevel,
        (errcode(text.sqlstate),
         errmsg(text.message, refused.presented, RelationGetRelationName(place->table)),
         errdetail_log("The resource is \"%.*s\", the token is measured against " INT64_FORMAT ".",
                       VIEW_ARGS(resource), refused.bound),
         errhint("%s", text.hint), place_fields(place)));
}

} // namespace

void report_refusal(int elevel, const verdict& refused, std::string_view resource,
                    const guarded_place* place)
{
    if (place != nullptr && !place->may_name_resource)
        return report_refusal_unnamed(elevel, refused, resource, place);
    switch (refused.why) {
    case refusal::stale:
    case refusal::pruned:
        return report_stale(elevel, refused, resource, place);
    case refusal::outclaimed:
        return report_outclaimed(elevel, refused, resource, place);
    case refusal::tied:
        return report_tied(elevel, refused, resource, place);
    case refusal::retired:
        return report_retired(elevel, refused, resource, place);
    case refusal::conflict:
        return report_conflict(elevel, refused, resource, place);
    case refusal::not_issued:
        return report_not_issued(elevel, refused, resource, place);
    case refusal::not_positive:
        return report_not_positive(elevel, refused, resource, place);
    case refusal::behind:
        return report_behind(elevel, refused, resource, place);
    case refusal::none:
        break;
    }
    elog(ERROR, "fencelock: an accepted token was reported as refused");
}

namespace {

const char* unfenced_hint(stamp_use stamp)
{
    switch (stamp) {
    case stamp_use::claims_only:
        return "Call fence_check(resource, token) in this transaction first, or set "
               "fencelock.claims. What is written to the token column does not count here: the "
               "guard has require=claim.";
    case stamp_use::only_if_changed:
        return "Call fence_check(resource, token) in this transaction first, or set "
               "fencelock.claims. In a MERGE the token column presents a token only where its "
               "value changes.";
    case stamp_use::possible:
        return "Call fence_check(resource, token) in this transaction first, write the token to "
               "the token column, or set fencelock.claims.";
    default:
        return "Call fence_check(resource, token) in this transaction first, or set "
               "fencelock.claims.";
    }
}

} // namespace

void report_unfenced(int elevel, std::string_view resource, const guarded_place& place)
{
    const char* table = RelationGetRelationName(place.table);
    if (!place.may_name_resource) {
        ereport(elevel,
                (errcode(sqlstate_fencing_token_required),
                 errmsg("no fencing token presented for this row of table \"%s\"", table),
                 errdetail_log("The row belongs to resource \"%.*s\".", VIEW_ARGS(resource)),
                 errhint("Present the token that came with the lock: call fence_check(resource, "
                         "token) in this transaction first."),
                 place_fields(&place)));
        return;
    }
    ereport(elevel,
            (errcode(sqlstate_fencing_token_required),
             errmsg("no fencing token presented for resource \"%.*s\"", VIEW_ARGS(resource)),
             errdetail("Table \"%s\" is guarded: a write must carry the fencing token of the "
                       "resource that its row belongs to.",
                       table),
             errhint("%s", unfenced_hint(place.stamp)), place_fields(&place)));
}

void raise_null_argument(const char* argument)
{
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("argument \"%s\" must not be NULL", argument)));
    pg_unreachable();
}

void raise_bad_resource_length(std::string_view resource)
{
    if (resource.empty())
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the name of a resource must not be empty")));
    int shown = pg_mbcliplen(resource.data(), static_cast<int>(resource.size()), 64);
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the name of resource \"%.*s...\" is longer than %d bytes", shown,
                           resource.data(), static_cast<int>(max_resource_bytes)),
                    errdetail("It has %zu bytes.", resource.size())));
    pg_unreachable();
}

void raise_bad_length(const char* argument, size_t length)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("argument \"%s\" must have 1 to %d bytes, not %zu", argument,
                           static_cast<int>(max_resource_bytes), length)));
    pg_unreachable();
}

void raise_bad_ttl()
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("argument \"ttl\" must lie between 1 millisecond and 1 year")));
    pg_unreachable();
}

void raise_bad_reservation_size(int64 n, std::string_view resource)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cannot reserve " INT64_FORMAT " tokens of resource \"%.*s\"", n,
                           VIEW_ARGS(resource)),
                    errdetail("One reservation has 1 to %d tokens.", 1 << 24)));
    pg_unreachable();
}

void raise_negative_above(token above, std::string_view resource)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cannot issue tokens of resource \"%.*s\" above " INT64_FORMAT,
                           VIEW_ARGS(resource), above),
                    errdetail("Argument \"above\" must not be negative; 0 asks for nothing.")));
    pg_unreachable();
}

void raise_high_above(token above, std::string_view resource, int64 n, token highest)
{
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
         errmsg("cannot issue tokens of resource \"%.*s\" above " INT64_FORMAT, VIEW_ARGS(resource),
                above),
         errdetail(
             "Argument \"above\" may be no more than " INT64_FORMAT
             " at this time: what was issued or accepted before, or leaves room for " INT64_FORMAT
             " tokens in the next generation.",
             highest, n)));
    pg_unreachable();
}

void raise_foreign_generation(std::string_view resource, token above, int64 seconds)
{
    ereport(ERROR,
            (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
             errmsg("cannot issue tokens of resource \"%.*s\" above " INT64_FORMAT " yet",
                    VIEW_ARGS(resource), above),
             errdetail("Another history of this database has issued in that generation, and only "
                       "it knows how far."),
             errhint("Find out whether a copy of this database is in use. This one can go on in "
                     "%lld seconds.",
                     static_cast<long long>(seconds))));
    pg_unreachable();
}

void raise_bad_idle_time()
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("argument \"older_than\" must lie between 0 and 100 years")));
    pg_unreachable();
}

void raise_bad_receipt(std::string_view receipt)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("\"%.*s\" is no receipt", VIEW_ARGS(receipt)),
                    errhint("A receipt is what fence_receipt() returned in the transaction.")));
    pg_unreachable();
}

void raise_bad_mark(token mark, std::string_view resource)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("mark " INT64_FORMAT " for resource \"%.*s\" is negative", mark,
                           VIEW_ARGS(resource)),
                    errhint("0 lets any token in again.")));
    pg_unreachable();
}

void raise_superuser_required(const char* function)
{
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("only a superuser may call %s", function)));
    pg_unreachable();
}

void log_reset(std::string_view resource, token before, token after)
{
    ereport(LOG, (errmsg("mark of resource \"%.*s\" was set from " INT64_FORMAT " to " INT64_FORMAT
                         " by hand",
                         VIEW_ARGS(resource), before, after)));
}

void report_no_stat()
{
    ereport(NOTICE, (errmsg("fencelock counts nothing, as it was not preloaded"),
                     errhint("Add fencelock to shared_preload_libraries and restart PostgreSQL.")));
}

void raise_no_token_left(std::string_view resource)
{
    ereport(ERROR, (errcode(sqlstate_no_token_left),
                    errmsg("no fencing token is left for resource \"%.*s\"", VIEW_ARGS(resource)),
                    errdetail("Tokens are bigint, and a token near 2^63 was accepted for it."),
                    errhint("Use another resource name, or have a superuser call fence_reset.")));
    pg_unreachable();
}

void raise_installation_broken(const char* what)
{
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("extension fencelock is not whole: %s is not in its schema", what),
                    errhint("Its objects must stay in the schema of CREATE EXTENSION fencelock.")));
    pg_unreachable();
}

} // namespace fencelock
