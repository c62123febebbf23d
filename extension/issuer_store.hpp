// What was issued: one row of fence_issuer per resource. Issues and marks lie in different rows, so
// that issuing never waits for a claim in progress.
#pragma once

#include "errors.hpp"
#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

// Sets the outcome for a token that would raise the mark: retired below the first token of the
// newest reservation, not issued above the last. Reads what is committed or this transaction's own,
// without waiting. False, and the outcome left alone, where the resource was never issued here:
// then it takes any token.
bool judge_by_issues(const hashed_name& resource, token presented, verdict& outcome);

// Reserves n consecutive tokens and returns the first: see fence_issue.
token reserve_tokens(std::string_view resource, int64 n, token above, const text* ticket);

// Leases kept here: see fence_acquire, fence_renew, fence_release. ttl in microseconds.
token acquire_lease(std::string_view resource, const text* owner,
                    int64 ttl); // no_token: another owner's lease runs
bool renew_lease(std::string_view resource, const text* owner, token held, int64 ttl);
bool release_lease(std::string_view resource, const text* owner, token held);

// For pruning. The names (text*) of the resources whose row has not changed since then and has no
// running lease; one of them, locked where it is still so and nobody holds it; and its row deleted.
List* idle_issued_resources(TimestampTz idle_since);
bool hold_idle_issues(std::string_view resource, TimestampTz idle_since, token& issued);
void delete_held_issues(std::string_view resource);

} // namespace fencelock
