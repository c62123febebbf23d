#include "redlock_waiter.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fencelock/errors.hpp>

#include "pause.hpp"
#include "wake_list.hpp"

namespace fencelock::detail {

namespace {

constexpr milliseconds most_blocked{500};
constexpr milliseconds least_poll{25};
constexpr milliseconds most_poll{75};

} // namespace

redlock_waiter::redlock_waiter(std::vector<std::shared_ptr<redis_pool>> const& pools,
                               std::string const& resource)
    : keys_{keys_of(resource)}
{
    for (auto const& pool : pools)
        servers_.push_back({pool, nullptr});
}

void redlock_waiter::wait(steady::time_point until, std::stop_token const& stop)
{
    for (auto& one : servers_)
        if (!one.is_away && !stop.stop_requested() && block_at(one, until, stop))
            return;
    if (std::all_of(servers_.begin(), servers_.end(), [](auto const& one) { return one.is_away; }))
        for (auto& one : servers_)
            one.is_away = false;
    pause_until(std::min(until, steady::now() + random_pause(least_poll, most_poll)), stop);
}

// False where that server has nothing to wait for, or does not let us.
bool redlock_waiter::block_at(server& one, steady::time_point until, std::stop_token const& stop)
try {
    auto const answer_limit = one.pool->options().redlock_timeout;
    auto link = std::move(one.link);
    if (!link)
        link = one.pool->take(one.pool->topology().server_for({}, {}),
                              std::min(steady::now() + answer_limit, until + answer_grace));
    bool blocked = false;
    {
        std::stop_callback const interruption{stop, [&link] { link->interrupt(); }};
        blocked = block_over(*link, answer_limit, until);
    }
    if (blocked)
        one.link = std::move(link);
    else
        one.pool->give_back(std::move(link));
    return blocked;
} catch (std::exception const&) { // told by the attempt that follows
    one.is_away = true;
    return false;
}

bool redlock_waiter::block_over(redis_link& link, milliseconds answer_limit,
                                steady::time_point until) const
{
    auto const answered_by = [&](milliseconds blocked) {
        return std::min(steady::now() + blocked + answer_limit, until + answer_grace);
    };
    auto const held =
        checked(link.command(std::array<std::string, 2>{"GET", keys_.lock}, answered_by({})));
    if (held.type != redis_reply::kind::text || held.text.starts_with("0:"))
        return false;
    auto const pttl =
        checked(link.command(std::array<std::string, 2>{"PTTL", keys_.lock}, answered_by({})));
    auto const limit = std::min(longest_block(pttl, most_blocked), detail::until(until));
    if (limit > milliseconds::zero())
        block_for_wake(link, keys_.wake, limit, answered_by(limit));
    return true;
}

} // namespace fencelock::detail
