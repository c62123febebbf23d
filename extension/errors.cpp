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

[[noreturn]] void raise_stale(const verdict& refused, std::string_view resource,
                              const guarded_place* place)
{
    ereport(ERROR, (errcode(sqlstate_stale_fencing_token),
                    errmsg("fencing token " INT64_FORMAT " is stale, below the mark " INT64_FORMAT
                           " of resource \"%.*s\"",
                           refused.presented, refused.bound, VIEW_ARGS(resource)),
                    errdetail("A newer holder has presented token " INT64_FORMAT
                              ": the lease that token " INT64_FORMAT " came from is over.",
                              refused.bound, refused.presented),
                    errhint(stale_hint), place_fields(place)));
    pg_unreachable();
}

[[noreturn]] void raise_tied(const verdict& refused, std::string_view resource,
                             const guarded_place* place)
{
    ereport(ERROR,
            (errcode(sqlstate_stale_fencing_token),
             errmsg("fencing token " INT64_FORMAT " is stale, not above the mark " INT64_FORMAT
                    " of resource \"%.*s\"",
                    refused.presented, refused.bound, VIEW_ARGS(resource)),
             errdetail("The row was written with token " INT64_FORMAT
                       ", and its guard has ties=reject: each write needs a higher token.",
                       refused.bound),
             errhint("Acquire the lock again for each write of this row."), place_fields(place)));
    pg_unreachable();
}

[[noreturn]] void raise_retired(const verdict& refused, std::string_view resource,
                                const guarded_place* place)
{
    ereport(ERROR,
            (errcode(sqlstate_stale_fencing_token),
             errmsg("fencing token " INT64_FORMAT
                    " is stale, below the newest reservation " INT64_FORMAT " of resource \"%.*s\"",
                    refused.presented, refused.bound, VIEW_ARGS(resource)),
             errdetail("Tokens from " INT64_FORMAT
                       " on were reserved since, which retires the earlier ones that had not been "
                       "presented.",
                       refused.bound),
             errhint(stale_hint), place_fields(place)));
    pg_unreachable();
}

[[noreturn]] void raise_conflict(const verdict& refused, std::string_view resource,
                                 const guarded_place* place)
{
    ereport(ERROR,
            (errcode(sqlstate_fencing_token_conflict),
             errmsg("fencing token " INT64_FORMAT " of resource \"%.*s\" belongs to another owner",
                    refused.presented, VIEW_ARGS(resource)),
             errdetail("Two owners hold the same number: whatever issued it gave it out twice."),
             errhint("Acquire the lock again for a token of its own, and look at what issues the "
                     "tokens of this resource."),
             place_fields(place)));
    pg_unreachable();
}

[[noreturn]] void raise_not_issued(const verdict& refused, std::string_view resource,
                                   const guarded_place* place)
{
    ereport(ERROR,
            (errcode(sqlstate_fencing_token_not_issued),
             errmsg("fencing token " INT64_FORMAT
                    " of resource \"%.*s\" was never issued, the highest issued is " INT64_FORMAT,
                    refused.presented, VIEW_ARGS(resource), refused.bound),
             errdetail("This database issues the tokens of this resource and never handed that one "
                       "out."),
             errhint("Use the token that came with the lock; tokens of other resources, timestamps "
                     "and guesses are refused."),
             place_fields(place)));
    pg_unreachable();
}

constexpr const char* not_positive_hint = "Tokens start at 1; 0 and NULL stand for no token.";
constexpr const char* behind_hint =
    "Claim the token in a transaction of its own first, then run this transaction again.";

[[noreturn]] void raise_not_positive(const verdict& refused, std::string_view resource,
                                     const guarded_place* place)
{
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("fencing token " INT64_FORMAT " for resource \"%.*s\" is not greater than 0",
                    refused.presented, VIEW_ARGS(resource)),
             errhint(not_positive_hint), place_fields(place)));
    pg_unreachable();
}

[[noreturn]] void raise_behind(const verdict& refused, std::string_view resource,
                               const guarded_place* place)
{
    ereport(
        ERROR,
        (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
         errmsg("could not serialize access: the snapshot is older than the claim of fencing "
                "token " INT64_FORMAT " on resource \"%.*s\"",
                refused.presented, VIEW_ARGS(resource)),
         errdetail("The token is accepted, but this transaction would read what was true before "
                   "earlier holders finished."),
         errhint(behind_hint), place_fields(place)));
    pg_unreachable();
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
[[noreturn]] void raise_refusal_unnamed(const verdict& refused, std::string_view resource,
                                        const guarded_place* place)
{
    unnamed_text text = unnamed_text_of(refused.why);
    ereport(ERROR, (errcode(text.sqlstate),
                    errmsg(text.message, refused.presented, RelationGetRelationName(place->table)),
                    errdetail_log(
                        "The resource is \"%.*s\", the token is measured against " INT64_FORMAT ".",
                        VIEW_ARGS(resource), refused.bound),
                    errhint("%s", text.hint), place_fields(place)));
    pg_unreachable();
}

} // namespace

void raise_refusal(const verdict& refused, std::string_view resource, const guarded_place* place)
{
    if (place != nullptr && !place->may_name_resource)
        raise_refusal_unnamed(refused, resource, place);
    switch (refused.why) {
    case refusal::stale:
        raise_stale(refused, resource, place);
    case refusal::tied:
        raise_tied(refused, resource, place);
    case refusal::retired:
        raise_retired(refused, resource, place);
    case refusal::conflict:
        raise_conflict(refused, resource, place);
    case refusal::not_issued:
        raise_not_issued(refused, resource, place);
    case refusal::not_positive:
        raise_not_positive(refused, resource, place);
    case refusal::behind:
        raise_behind(refused, resource, place);
    case refusal::none:
        break;
    }
    elog(ERROR, "fencelock: an accepted token was reported as refused");
    pg_unreachable();
}

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
             place.token_column == InvalidAttrNumber
                 ? errhint("Call fence_check(resource, token) in this transaction first, or set "
                           "fencelock.claims.")
                 : errhint("Call fence_check(resource, token) in this transaction first, write the "
                           "token to the token column, or set fencelock.claims."),
             place_fields(&place)));
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

void raise_bad_above(token above, std::string_view resource, token highest_possible)
{
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("cannot issue tokens of resource \"%.*s\" above " INT64_FORMAT,
                           VIEW_ARGS(resource), above),
                    errdetail("Argument \"above\" must lie between 0 and " INT64_FORMAT
                              ", less the number of tokens asked for.",
                              highest_possible)));
    pg_unreachable();
}

void raise_no_token_left(std::string_view resource)
{
    ereport(ERROR, (errcode(sqlstate_no_token_left),
                    errmsg("no fencing token is left for resource \"%.*s\"", VIEW_ARGS(resource)),
                    errdetail("Tokens are bigint, and a token near 2^63 was accepted for it."),
                    errhint("Use another resource name.")));
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
