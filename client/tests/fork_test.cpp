// What a forked child may do with its parent's handles: nothing.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

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

} // namespace
} // namespace fencelock::test
