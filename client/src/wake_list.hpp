// Waiting at one server for the element that a release pushes to a lock's wake list.
#pragma once

#include <string>

#include "redis_link.hpp"

namespace fencelock::detail {

/// How long after the end of the wait an answer is still waited for.
inline constexpr milliseconds answer_grace{50};

/// The reply; throws redis_error where it is an error.
redis_reply checked(redis_reply reply);

/// How long to wait for a lease that ends in `pttl`, as the server gave it: a little longer than it
/// runs, because a lease that runs out wakes nobody, and at most `most`, because a wake may be lost
/// (the waiter that took it may have died). Nothing where there is no lease.
milliseconds longest_block(redis_reply const& pttl, milliseconds most);

/// Blocks for `limit`, which is above 0, or until it is woken. Throws link_failure, redis_error.
void block_for_wake(redis_link& link, std::string const& wake_list, milliseconds limit,
                    steady::time_point deadline);

} // namespace fencelock::detail
