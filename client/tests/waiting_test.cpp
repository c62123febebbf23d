// Waiting for a lock that others hold.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace fencelock::test {
namespace {

class waiting : public ::testing::Test {
  protected:
    test_support::redis_server server;
    redis_locks redis{server.socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

// The answer to a blocked waiter that a release wakes names the list; none of the other answers is
// as long as this name.
TEST_F(waiting, a_release_wakes_a_blocked_waiter)
{
    resource += std::string(150, 'x');
    bool woken = false;
    for (int tries = 0; tries < 50 && !woken; ++tries) {
        test_support::tcp_proxy proxy{server.socket_path()};
        redis_locks waiters_redis{proxy.url()};
        client waiters{waiters_redis, shared_postgres().conninfo(), {.fall_back = false}};
        auto holder = locks.acquire(resource);
        std::thread waiter{[&] { EXPECT_TRUE(waiters.try_acquire(resource, {.wait = 120s})); }};
        EXPECT_TRUE(wait_until([&] { return blocked_clients(server) == 1; }));
        proxy.hold_replies();
        EXPECT_EQ(holder.release(), release_outcome::released);
        EXPECT_TRUE(wait_until([&] { return proxy.bytes_held() > 0; }));
        woken = proxy.bytes_held() > 150; // else it had just come back by itself
        proxy.release();
        waiter.join();
    }
    EXPECT_TRUE(woken);
}

TEST_F(waiting, a_lease_that_runs_out_is_noticed)
{
    auto holder = locks.acquire(resource, {.ttl = 300ms, .renew = false});
    EXPECT_TRUE(locks.try_acquire(resource, {.wait = 120s}));
}

TEST_F(waiting, a_wake_that_nobody_got_delays_nobody_for_ever)
{
    auto holder = locks.acquire(resource);
    std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire(resource, {.wait = 120s})); }};
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server) == 1; }));
    server.command({"DEL", lock_key(resource)}); // ends the lease without a wake
    waiter.join();
}

TEST_F(waiting, many_waiters_do_not_all_try_at_every_release)
{
    constexpr int waiters = 64;
    auto holder = locks.acquire(resource);
    std::atomic<int> granted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; ++i)
        threads.emplace_back([&] {
            auto lock = locks.acquire(resource, {.wait = 300s});
            ++granted;
        });
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server) >= waiters - 4; }));
    auto const before = script_calls(server);
    auto const start = std::chrono::steady_clock::now();
    holder.release();
    for (auto& thread : threads)
        thread.join();
    auto const seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    EXPECT_EQ(granted, waiters);
    // Per grant two tries and a release; beside that each waiter comes back once a second. If all
    // tried at each release, it would be more than 2000 within the first second.
    EXPECT_LE(script_calls(server) - before, waiters * (4 + seconds.count()));
}

TEST_F(waiting, blocked_waiters_do_not_hold_up_renewals)
{
    redis_locks narrow{server.socket_url(), {.idle_connections = 1}};
    client shared{narrow, shared_postgres().conninfo(), {.fall_back = false}};
    auto holder = shared.acquire(resource, {.ttl = 10s});
    std::stop_source cancel;
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i)
        threads.emplace_back([&] {
            EXPECT_FALSE(shared.try_acquire(resource, {.wait = 300s, .stop = cancel.get_token()}));
        });
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server) >= 12; }));
    auto const first = holder.valid_until();
    EXPECT_TRUE(wait_until([&] { return holder.valid_until() > first; }));
    EXPECT_TRUE(holder.held());
    cancel.request_stop();
    for (auto& thread : threads)
        thread.join();
}

TEST_F(waiting, a_stop_request_ends_the_wait)
{
    auto holder = locks.acquire(resource);
    std::stop_source cancel;
    std::thread waiter{[&] {
        EXPECT_THROW(locks.acquire(resource, {.wait = 24h, .stop = cancel.get_token()}),
                     lock_timeout);
    }};
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server) == 1; }));
    cancel.request_stop();
    waiter.join();
    EXPECT_TRUE(holder.held());
}

TEST_F(waiting, a_stop_request_ends_a_wait_for_a_lease_in_postgresql)
{
    client in_database{shared_postgres().conninfo()};
    auto holder = in_database.acquire(resource);
    std::stop_source cancel;
    std::thread waiter{[&] {
        EXPECT_FALSE(in_database.try_acquire(resource, {.wait = 24h, .stop = cancel.get_token()}));
    }};
    cancel.request_stop();
    waiter.join();
}

TEST_F(waiting, a_wait_that_was_cancelled_before_it_began_sends_nothing)
{
    test_support::tcp_proxy proxy{server.socket_path()};
    redis_locks watched{proxy.url()};
    client never{watched, shared_postgres().conninfo(), {.fall_back = false}};
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(never.try_acquire(resource, {.stop = cancel.get_token()}));
    EXPECT_EQ(proxy.connections(), 0U);
}

TEST_F(waiting, the_wait_is_not_shorter_than_was_asked_for)
{
    auto holder = locks.acquire(resource);
    auto const start = std::chrono::steady_clock::now();
    EXPECT_FALSE(locks.try_acquire(resource, {.wait = 250ms}));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 250ms);
}

TEST_F(waiting, a_user_who_may_not_block_polls)
{
    server.command({"ACL", "SETUSER", "poor", "on", ">secret", "~fencelock:*", "+@all", "-blpop"});
    redis_locks poor{"redis://poor:secret@127.0.0.1:" + std::to_string(server.port())};
    client polling{poor, shared_postgres().conninfo(), {.fall_back = false}};
    auto holder = locks.acquire(resource);
    auto const before = script_calls(server);
    std::thread waiter{[&] { EXPECT_TRUE(polling.try_acquire(resource, {.wait = 120s})); }};
    EXPECT_TRUE(wait_until([&] { return script_calls(server) >= before + 3; }));
    EXPECT_EQ(blocked_clients(server), 0);
    holder.release();
    waiter.join();
}

TEST_F(waiting, a_server_that_goes_away_and_comes_back_ends_no_wait)
{
    auto holder = locks.acquire(resource);
    std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire(resource, {.wait = 300s})); }};
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server) == 1; }));
    server.restart_empty();
    waiter.join();
}

TEST_F(waiting, the_same_owner_gets_the_same_lease_again)
{
    auto first = locks.acquire(resource, {.owner = "worker 7"});
    auto second = locks.acquire(resource, {.owner = "worker 7"});
    EXPECT_EQ(second.token(), first.token());
    EXPECT_EQ(second.owner(), "worker 7");
    EXPECT_FALSE(locks.try_acquire(resource, {.owner = "worker 8"}));
    EXPECT_THROW(locks.try_acquire(resource, {.owner = std::string(257, 'x')}), invalid_argument);
    EXPECT_THROW(locks.try_acquire(resource, {.owner = "\xFF"}), invalid_argument);
}

} // namespace
} // namespace fencelock::test
