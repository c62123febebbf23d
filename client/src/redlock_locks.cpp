#include <fencelock/redlock_locks.hpp>

#include <algorithm>

#include <fencelock/errors.hpp>

#include "limits.hpp"
#include "redis_pool.hpp"

namespace fencelock {

namespace {

using detail::redis_target;

void check(redis_target const& target, std::vector<redis_target> const& before)
{
    if (target.what != redis_target::kind::server)
        throw invalid_argument{"Redlock needs independent servers: sentinels and clusters are "
                               "none"};
    auto const& server = target.servers.at(0);
    if (std::any_of(before.begin(), before.end(), [&](redis_target const& other) {
            return other.servers.at(0).is_same_server(server);
        }))
        throw invalid_argument{server.display() + " is given twice: it would vote twice"};
}

} // namespace

redlock_locks::redlock_locks(std::vector<std::string> const& urls, redis_options const& options)
{
    if (urls.empty())
        throw invalid_argument{"Redlock needs at least one server"};
    if (options.keys == key_preset::plain)
        throw invalid_argument{"Redlock needs tagged keys: PostgreSQL issues its tokens"};
    detail::check_timeout(options.redlock_timeout, "redlock_timeout");
    std::vector<redis_target> targets;
    for (auto const& url : urls) {
        auto target = detail::parse_redis_url(url, options);
        check(target, targets);
        targets.push_back(std::move(target));
    }
    for (auto const& target : targets)
        pools_.push_back(std::make_shared<detail::redis_pool>(target, options));
}

redlock_locks::~redlock_locks() = default;

} // namespace fencelock
