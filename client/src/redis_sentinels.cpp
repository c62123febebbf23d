#include "redis_sentinels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "first_answer.hpp"

namespace fencelock::detail {

namespace {

constexpr std::chrono::seconds longest_idle{1};
constexpr milliseconds limit_after_idleness{200};

// Host and port of the primary; nothing where this sentinel knows none of that name.
std::optional<std::vector<redis_reply>>
primary_known_to(redis_link& sentinel, std::string const& name, steady::time_point deadline)
{
    auto reply = sentinel.command(
        std::array<std::string, 3>{"SENTINEL", "get-master-addr-by-name", name}, deadline);
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
    if (reply.type == redis_reply::kind::nil)
        return std::nullopt;
    if (reply.elements.size() != 2)
        throw link_failure{"a sentinel has an unexpected reply", false};
    return std::move(reply.elements);
}

} // namespace

redis_sentinels::redis_sentinels(redis_target const& target, redis_connector connector)
    : connector_{std::move(connector)}, name_{target.primary_name}, login_{target.login},
      sentinels_{target.servers}
{
}

redis_address redis_sentinels::server_for(std::string_view, steady::time_point deadline)
{
    std::vector<redis_address> sentinels;
    std::optional<redis_address> known;
    {
        std::lock_guard const guard{mutex_};
        auto const now = steady::now();
        known = primary_;
        if (known && now - last_asked_for_ < longest_idle) {
            last_asked_for_ = now;
            return *known;
        }
        sentinels = sentinels_;
    }
    if (!known)
        return ask(sentinels, deadline);
    try {
        return ask(sentinels, std::min(deadline, steady::now() + limit_after_idleness));
    } catch (std::exception const&) {
        std::lock_guard const guard{mutex_};
        last_asked_for_ = steady::now();
        return *known;
    }
}

redis_address redis_sentinels::ask(std::vector<redis_address> const& sentinels,
                                   steady::time_point deadline)
{
    auto const named = first_answer(sentinels, connector_, deadline,
                                    [this](redis_link& sentinel, steady::time_point limit) {
                                        return primary_known_to(sentinel, name_, limit);
                                    });
    if (!named)
        throw redis_error{"ERR no sentinel knows a primary of that name"};
    auto primary = login_;
    primary.host = named->at(0).text;
    primary.port = named->at(1).text;
    std::lock_guard const guard{mutex_};
    primary_ = primary;
    last_asked_for_ = steady::now();
    return primary;
}

void redis_sentinels::doubt(redis_address const& server)
{
    std::lock_guard const guard{mutex_};
    if (!primary_ || !primary_->is_same_server(server))
        return; // another has been named since
    primary_.reset();
    std::rotate(sentinels_.begin(), sentinels_.begin() + 1, sentinels_.end());
}

} // namespace fencelock::detail
