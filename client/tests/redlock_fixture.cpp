#include "redlock_fixture.hpp"

#include <algorithm>

namespace fencelock::test {

redlock_fixture::redlock_fixture(test_support::redis_options const& options)
{
    for (int i = 0; i < 3; ++i)
        servers.push_back(std::make_unique<one_server>(options));
}

std::vector<std::string> redlock_fixture::urls() const
{
    std::vector<std::string> all;
    for (auto const& one : servers)
        all.push_back(one->proxy.url());
    return all;
}

std::optional<std::string> redlock_fixture::kept(std::size_t i)
{
    return server(i).command({"GET", lock_key(resource)});
}

bool redlock_fixture::is_of(std::optional<std::string> const& value, lock const& held)
{
    return value && value->starts_with(std::to_string(held.token()) + ":") &&
           value->ends_with(":" + held.owner());
}

int redlock_fixture::servers_with(lock const& held)
{
    int found = 0;
    for (std::size_t i = 0; i < servers.size(); ++i)
        found += server(i).running() && is_of(kept(i), held);
    return found;
}

lock redlock_fixture::acquire_everywhere(client& locks, acquire_options const& options)
{
    for (;;) {
        auto held = locks.acquire(resource, options);
        if (servers_with(held) == static_cast<int>(servers.size()))
            return held;
        held.release();
        EXPECT_TRUE(nothing_is_left());
    }
}

bool redlock_fixture::nothing_is_left()
{
    return wait_until([&] {
        for (std::size_t i = 0; i < servers.size(); ++i)
            if (server(i).running() && kept(i))
                return false;
        return true;
    });
}

void redlock_fixture::take_for_others(std::size_t i, std::string const& value)
{
    server(i).command({"SET", lock_key(resource), value, "PX", "3600000"});
}

issue_blocker::issue_blocker(std::string const& resource)
    : connection_{shared_postgres().conninfo()}, tx_{connection_}
{
    tx_.exec("SELECT \"Fence it\".fence_issue('" + resource + "')");
}

bool issue_blocker::somebody_waits()
{
    return wait_until(somebody_waits_in_postgres);
}

} // namespace fencelock::test
