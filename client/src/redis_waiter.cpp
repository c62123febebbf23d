#include "redis_waiter.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fencelock/errors.hpp>

#include "pause.hpp"
#include "redis_fault.hpp"
#include "wake_list.hpp"

namespace fencelock::detail {

namespace {

// How long a lost wake can keep everybody waiting.
constexpr milliseconds most_blocked{1000};

constexpr milliseconds least_poll{25};
constexpr milliseconds most_poll{75};

} // namespace

redis_waiter::redis_waiter(std::shared_ptr<redis_pool> pool, std::string const& resource)
    : pool_{std::move(pool)}, keys_{keys_of(resource, pool_->options().keys)}, route_{*pool_,
                                                                                      keys_.lock}
{
}

redis_waiter::~redis_waiter()
{
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
    auto const limit = block_length(*link_, until);
    if (limit > milliseconds::zero())
        block_for_wake(*link_, keys_.wake, limit, answer_deadline(limit, until));
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
milliseconds redis_waiter::block_length(redis_link& link, steady::time_point until)
{
    auto const pttl = checked(
        link.command(std::array<std::string, 2>{"PTTL", keys_.lock}, answer_deadline({}, until)));
    bool const is_plain = pool_->options().keys == key_preset::plain;
    return std::min(longest_block(pttl, is_plain ? retry_pause() : most_blocked),
                    detail::until(until));
}

} // namespace fencelock::detail
