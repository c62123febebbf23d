// What was issued: one row of fence_issuer per resource. Issues and marks lie in different rows, so
// that issuing never waits for a claim in progress.
#pragma once

#include "errors.hpp"
#include "pg.hpp"

namespace fencelock {

// Whether a token that would raise the mark may do so: refused as retired below the first token of
// the newest reservation, as not issued above the last. Reads what is committed or this
// transaction's own, without waiting. A resource that was never issued here takes any token.
verdict judge_by_issues(std::string_view resource, token presented);

// Reserves n consecutive tokens and returns the first: see fence_issue.
token reserve_tokens(std::string_view resource, int64 n, token above, const text* ticket);

// Leases kept here: see fence_acquire, fence_renew, fence_release. ttl in microseconds.
token acquire_lease(std::string_view resource, const text* owner,
                    int64 ttl); // no_token: another owner's lease runs
bool renew_lease(std::string_view resource, const text* owner, token held, int64 ttl);
bool release_lease(std::string_view resource, const text* owner, token held);

} // namespace fencelock
