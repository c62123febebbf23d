#include "wake_list.hpp"

#include <algorithm>
#include <string>

#include "pause.hpp"

namespace fencelock::detail {

namespace {

// Those who wait for a lease to run out are told by nobody: they come back one by one.
constexpr milliseconds spread{50};

// As BLPOP takes it: seconds, in which 0 would be for ever. Before version 7 Redis cuts off
// fractions of a millisecond, and what is 0.001 to us is a little less to it.
std::string seconds_text(milliseconds t)
{
    auto const ms = std::max<long long>(t.count(), 2);
    return std::to_string(ms / 1000) + '.' + std::to_string(1000 + ms % 1000).substr(1);
}

} // namespace

redis_reply checked(redis_reply reply)
{
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
    return reply;
}

milliseconds longest_block(redis_reply const& pttl, milliseconds most)
{
    constexpr std::int64_t no_key = -2;
    constexpr std::int64_t no_expiry = -1;
    if (pttl.integer == no_key)
        return milliseconds::zero();
    if (pttl.integer == no_expiry)
        return most;
    return std::min(most, milliseconds{pttl.integer} + random_pause({}, spread));
}

void block_for_wake(redis_link& link, std::string const& wake_list, milliseconds limit,
                    steady::time_point deadline)
{
    checked(link.command(std::array<std::string, 3>{"BLPOP", wake_list, seconds_text(limit)},
                         deadline));
}

} // namespace fencelock::detail
