// What a forked child may do with its parent's handles: nothing.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

namespace fencelock::test {
namespace {

// Runs `in_child` in a forked child, which ends with its result.
int exit_status_of_child(std::function<int()> const& in_child)
{
    auto const child = ::fork();
    if (child == 0)
        ::_exit(in_child());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(fork_test, handles_are_inert_in_a_child_and_go_on_in_the_parent)
{
    redis_locks redis{shared_redis().socket_url()};
    std::optional<client> locks{std::in_place, redis, shared_postgres().conninfo()};
    auto const resource = new_resource();
    std::optional<lock> held{locks->acquire(resource, {.ttl = 1h})};
    auto const stored = shared_redis().command({"GET", lock_key(resource)});
    held->confirm();

    auto const status = exit_status_of_child([&] {
        if (held->held() || held->release() != release_outcome::not_held)
            return 1;
        if (held->valid_until() - std::chrono::steady_clock::now() >= 0s)
            return 4;
        try {
            held->transaction([](pqxx::work&) {});
            return 2;
        } catch (lock_lost const&) {
        }
        try {
            locks->try_acquire(resource);
            return 3;
        } catch (invalid_argument const&) {
        }
        held.reset(); // releases nothing
        locks.reset();
        return 0;
    });
    EXPECT_EQ(status, 0);

    EXPECT_EQ(shared_redis().command({"GET", lock_key(resource)}), stored);
    EXPECT_TRUE(held->renew());
    EXPECT_EQ(held->transaction([](pqxx::work&) { return 1; }), 1); // on the same connection
    EXPECT_EQ(held->release(), release_outcome::released);
}

TEST(fork_test, a_child_can_make_a_client_of_its_own)
{
    if (!children_may_start_threads)
        GTEST_SKIP();
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo()};
    auto const resource = new_resource();
    auto held = locks.acquire(resource, {.ttl = 1h});
    auto const status = exit_status_of_child([&] {
        redis_locks own_redis{shared_redis().socket_url()};
        client own{own_redis, shared_postgres().conninfo()};
        if (own.try_acquire(resource))
            return 1;
        auto const other = own.try_acquire(resource + ":child");
        return other && other->owner() != held.owner() ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
}

// 0 where each of these locks was this process's alone, with the token that Redis keeps for it.
int take_and_release(client& locks, std::string const& resource, std::string const& owner)
{
    std::int64_t last = 0;
    for (int i = 0; i < 200; ++i) {
        auto held = locks.try_acquire(resource, {.owner = owner});
        if (!held || held->token() <= last)
            return 1;
        last = held->token();
        auto const kept = shared_redis().command({"GET", lock_key(resource)});
        if (kept != std::to_string(last) + ":" + owner)
            return 2;
        if (held->release() != release_outcome::released)
            return 3;
    }
    return 0;
}

// Those that ran a script last.
int connections_of_clients()
{
    std::istringstream list{shared_redis().command({"CLIENT", "LIST"}).value()};
    int found = 0;
    for (std::string line; std::getline(list, line);)
        found += line.find("cmd=eval") != std::string::npos;
    return found;
}

TEST(fork_test, parent_and_child_share_no_connection_of_a_redis_locks)
{
    if (!children_may_start_threads)
        GTEST_SKIP();
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto const resource = new_resource();
    locks.acquire(resource).release(); // leaves an idle connection

    auto const child = ::fork();
    if (child == 0) {
        int status = 9;
        try {
            client own{redis, shared_postgres().conninfo(), {.fall_back = false}};
            status = take_and_release(own, resource + ":child", "child");
            if (connections_of_clients() < 2) // the parent's idle one, and ours
                status = 4;
        } catch (std::exception const&) {
        }
        ::_exit(status);
    }
    EXPECT_EQ(take_and_release(locks, resource, "parent"), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(locks.try_acquire(resource)); // on the connection from before
}

} // namespace
} // namespace fencelock::test
