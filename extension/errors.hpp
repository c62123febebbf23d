// The SQLSTATEs of fencelock and every text that a user can read. One home, so that SQL, guard and
// client agree.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Class LF is ours: classes 5-9 and I-Z are free for implementations, and none of 40xxx may be
// used, since clients and pools retry those, and a stale token must never be retried.
inline constexpr int sqlstate_stale_fencing_token = MAKE_SQLSTATE('L', 'F', '0', '0', '1');
inline constexpr int sqlstate_fencing_token_required = MAKE_SQLSTATE('L', 'F', '0', '0', '2');
inline constexpr int sqlstate_fencing_token_conflict = MAKE_SQLSTATE('L', 'F', '0', '0', '3');
inline constexpr int sqlstate_fencing_token_not_issued = MAKE_SQLSTATE('L', 'F', '0', '0', '4');
inline constexpr int sqlstate_no_token_left = ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED;

// Why a presented token was not accepted.
enum class refusal : uint8 {
    none,         // it was accepted
    stale,        // LF001: below the mark, or below a token that is being presented right now
    outclaimed,   // LF001: below the token that this very transaction has claimed
    pruned,       // LF001: below the floor that stands for the marks of pruned resources
    tied,         // LF001: the row has this token already, and its guard rejects ties
    retired,      // LF001: below the first token of the newest reservation
    conflict,     // LF003: the mark has this token, but another owner
    not_issued,   // LF004: above everything that was issued
    not_positive, // 22023: less than 1
    behind,       // 40001: good, but the transaction's snapshot is older than its claim
};

struct verdict {
    refusal why;
    token presented;
    token bound; // stale, outclaimed, pruned, tied: the mark; retired: first of the newest
                 // reservation; not_issued: the highest issued
};

// Whether a write could present its token by the token column, for what a hint advises.
enum class stamp_use : uint8 {
    possible,
    none,            // no such column, or the row leaves the resource, as by DELETE
    claims_only,     // the guard has require=claim
    only_if_changed, // a MERGE, which has left the column's value as it was
};

// Where a guard found the token: which table and column an error names, and whether the current
// role may read what the resource's name was made of. Null for a check by function, where the
// caller named the resource itself.
struct guarded_place {
    Relation table;
    AttrNumber token_column; // InvalidAttrNumber: the guard has none
    bool may_name_resource;
    stamp_use stamp;
};

// Tells the place of a guard's row when it is needed: that asks for rights, which a row that is
// accepted at once need not pay for.
struct place_source {
    guarded_place (*find)(const void* row);
    const void* row;
};

// elevel is ERROR, or WARNING for LF001 to LF004 where enforcement is relaxed.
void report_refusal(int elevel, const verdict& refused, std::string_view resource,
                    const guarded_place* place);

// LF002; elevel is ERROR or WARNING.
void report_unfenced(int elevel, std::string_view resource, const guarded_place& place);

// A wait for another transaction, for the errors that PostgreSQL ends it by: 55P03, 57014, 40P01.
struct explained_wait {
    std::string_view resource;
    token presented; // no_token: it is no claim that waits, but an issue or a change of a lease
    token holding;   // the mark that the other transaction holds
    const guarded_place* place; // null: not by a guard
};

// The callback of an ErrorContextCallback, with an explained_wait as its argument: says in such an
// error what it was that waited, and what to do.
extern "C" void explain_wait(void* argument);

// Waits with that explanation at hand.
template <typename function>
void wait_explained(explained_wait wait, function do_wait)
{
    ErrorContextCallback context{error_context_stack, explain_wait, &wait};
    error_context_stack = &context;
    do_wait();
    error_context_stack = context.previous;
}

// 22004
[[noreturn]] void raise_null_argument(const char* argument);
// 22023
[[noreturn]] void raise_bad_resource_length(std::string_view resource);
[[noreturn]] void raise_bad_length(const char* argument, size_t length);
[[noreturn]] void raise_bad_ttl();
[[noreturn]] void raise_bad_reservation_size(int64 n, std::string_view resource);
[[noreturn]] void raise_negative_above(token above, std::string_view resource);
[[noreturn]] void raise_high_above(token above, std::string_view resource, int64 n, token highest);
[[noreturn]] void raise_bad_idle_time();
[[noreturn]] void raise_bad_receipt(std::string_view receipt);
[[noreturn]] void raise_bad_mark(token mark, std::string_view resource);
// 55P03: above is in a generation that another history has begun
[[noreturn]] void raise_foreign_generation(std::string_view resource, token above, int64 seconds);
// 42501
[[noreturn]] void raise_superuser_required(const char* function);
// 2200H
[[noreturn]] void raise_no_token_left(std::string_view resource);
// 55000: the extension's own tables or functions are not where they were created
[[noreturn]] void raise_installation_broken(const char* what);

// What is told, not raised.
void log_reset(std::string_view resource, token before, token after);
void report_no_stat();
void report_detached_partition(Relation partition, Relation parent);
void report_unguarded_child(Relation child, Relation parent);

// Arguments of a guard, all with the guard's table named.
[[noreturn]] void raise_guard_argument(Relation table, const char* problem, const char* hint);
[[noreturn]] void raise_guard_template(Relation table, const char* resource_template,
                                       const char* problem);
[[noreturn]] void raise_guard_no_column(Relation table, const char* column);
[[noreturn]] void raise_guard_token_type(Relation table, AttrNumber column);
[[noreturn]] void raise_guard_generated_column(Relation table, AttrNumber column);
[[noreturn]] void raise_guard_default_token(Relation table, AttrNumber column);
[[noreturn]] void raise_guard_relation_kind(Relation table);
[[noreturn]] void raise_guard_resource_length(Relation table, size_t length);
[[noreturn]] void raise_guard_null_column(Relation table, AttrNumber column);
[[noreturn]] void raise_not_row_of(Oid table);
[[noreturn]] void raise_guard_protocol();
[[noreturn]] void raise_event_trigger_protocol();
[[noreturn]] void raise_guard_truncate(Relation table);

} // namespace fencelock
