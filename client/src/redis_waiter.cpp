#include "redis_waiter.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <fencelock/errors.hpp>

#include "pause.hpp"
#include "redis_fault.hpp"

namespace fencelock::detail {

namespace {

// How long a lost wake can keep everybody waiting.
constexpr milliseconds most_blocked{1000};

// Those who wait for a lease to run out are told by nobody: they come back one by one.
constexpr milliseconds spread{50};

// How long after the end of the wait an answer is still waited for.
constexpr milliseconds answer_grace{50};

constexpr milliseconds least_poll{25};
constexpr milliseconds most_poll{75};

// As BLPOP takes it: seconds, in which 0 would be for ever. Before version 7 Redis cuts off
// fractions of a millisecond, and what is 0.001 to us is a little less to it.
std::string seconds_text(milliseconds t)
{
    std::array<char, 32> text;
    auto const ms = std::max<long long>(t.count(), 2);
    std::snprintf(text.data(), text.size(), "%lld.%03lld", ms / 1000, ms % 1000);
    return text.data();
}

redis_reply checked(redis_reply reply)
{
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
    return reply;
}

} // namespace

redis_waiter::redis_waiter(std::shared_ptr<redis_pool> pool, std::string const& resource)
    : pool_{std::move(pool)}, keys_{keys_of(resource, pool_->options().keys)}, route_{*pool_,
                                                                                      keys_.lock}
{
}

redis_waiter::~redis_waiter()
{
    if (link_)
        pool_->give_back(std::move(link_));
}

void redis_waiter::wait(steady::time_point until, std::stop_token const& stop)
{
    if (!refused_ && block(until, stop))
        return;
    pause_until(std::min(until, steady::now() + random_pause(least_poll, most_poll)), stop);
}

// False where the server did not block for us.
bool redis_waiter::block(steady::time_point until, std::stop_token const& stop)
try {
    if (!link_)
        link_ = route_.take(answer_deadline({}, until));
    std::stop_callback const interruption{stop, [this] { link_->interrupt(); }};
    auto const limit = longest_block(*link_, until);
    if (limit > milliseconds::zero())
        checked(link_->command(std::array<std::string, 3>{"BLPOP", keys_.wake, seconds_text(limit)},
                               answer_deadline(limit, until)));
    return true;
} catch (link_failure const& failure) {
    link_.reset();
    if (!stop.stop_requested()) // else it was interrupted
        route_.goes_on(failure, answer_deadline({}, until));
    return false;
} catch (redis_error const& e) {
    link_.reset();
    refused_ = !route_.goes_on(e, answer_deadline({}, until)) && is_configuration(e.what());
    return false;
} catch (configuration_error const&) { // told by the attempt that follows
    link_.reset();
    return false;
}

// Of a request that the server itself keeps for `blocked`.
steady::time_point redis_waiter::answer_deadline(milliseconds blocked,
                                                 steady::time_point until) const
{
    return std::min(steady::now() + blocked + pool_->options().command_timeout,
                    until + answer_grace);
}

// Nothing where the lock is free.
milliseconds redis_waiter::longest_block(redis_link& link, steady::time_point until)
{
    constexpr std::int64_t no_key = -2;
    constexpr std::int64_t no_expiry = -1;
    auto const pttl = checked(
        link.command(std::array<std::string, 2>{"PTTL", keys_.lock}, answer_deadline({}, until)));
    if (pttl.integer == no_key)
        return milliseconds::zero();
    auto limit =
        pool_->options().keys == key_preset::plain ? retry_pause() : milliseconds{most_blocked};
    if (pttl.integer != no_expiry)
        limit = std::min(limit, milliseconds{pttl.integer} + random_pause({}, spread));
    return std::min(limit, detail::until(until));
}

} // namespace fencelock::detail
