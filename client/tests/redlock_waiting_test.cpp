// Redlock: waiting for a lock, what is told of its servers, and processes that share them.
#include "redlock_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <thread>

namespace fencelock::test {
namespace {

class redlock_waiting : public redlock_fixture {
  protected:
    redlock_locks group{urls(), {.redlock_timeout = patient}};
    client locks{group,
                 shared_postgres().conninfo(),
                 {.fall_back = false, .attempt_timeout = std::chrono::milliseconds{patient}}};
};

TEST_F(redlock_waiting, a_release_wakes_a_waiter)
{
    resource += std::string(150, 'x'); // no other answer to a waiter is so long
    bool woken = false;
    for (int tries = 0; tries < 50 && !woken; ++tries) {
        test_support::tcp_proxy proxied{server(0).socket_path()};
        redlock_locks waiters_group{{proxied.url(), server(1).url(), server(2).url()},
                                    {.redlock_timeout = patient}};
        client waiters{waiters_group, shared_postgres().conninfo(), {.fall_back = false}};
        auto holder = acquire_everywhere(locks);
        std::thread waiter{[&] { EXPECT_TRUE(waiters.try_acquire(resource, {.wait = 120s})); }};
        EXPECT_TRUE(wait_until([&] { return blocked_clients(server(0)) == 1; }));
        proxied.hold_replies();
        EXPECT_EQ(holder.release(), release_outcome::released);
        EXPECT_TRUE(wait_until([&] { return proxied.bytes_held() > 0; }));
        woken = proxied.bytes_held() > 150; // else it had just come back by itself
        proxied.release();
        waiter.join();
    }
    EXPECT_TRUE(woken);
}

TEST_F(redlock_waiting, a_waiter_goes_on_elsewhere_when_its_server_goes_away)
{
    auto holder = acquire_everywhere(locks, {.ttl = 1h});
    std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire(resource, {.wait = 300s})); }};
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server(0)) == 1; }));
    server(0).kill9();
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server(1)) == 1; }));
    EXPECT_EQ(holder.release(), release_outcome::released);
    waiter.join();
}

TEST_F(redlock_waiting, a_stop_request_ends_the_wait)
{
    auto holder = acquire_everywhere(locks, {.ttl = 1h});
    std::stop_source cancel;
    std::thread waiter{[&] {
        EXPECT_FALSE(locks.try_acquire(resource, {.wait = 24h, .stop = cancel.get_token()}));
    }};
    EXPECT_TRUE(wait_until([&] { return blocked_clients(server(0)) == 1; }));
    cancel.request_stop();
    waiter.join();
    EXPECT_TRUE(holder.held());
}

TEST_F(redlock_waiting, a_server_that_goes_and_comes_is_told_once_each)
{
    std::mutex mutex;
    std::vector<std::string> told;
    client logging{group,
                   shared_postgres().conninfo(),
                   {.fall_back = false, .log = [&](log_entry const& entry) {
                        std::lock_guard const guard{mutex};
                        told.push_back(entry.message);
                    }}};
    auto const count = [&] {
        std::lock_guard const guard{mutex};
        return told.size();
    };
    logging.acquire(resource).release();
    EXPECT_EQ(count(), 0U);
    proxy(1).refuse();
    proxy(1).cut_all();
    for (int i = 0; i < 3; ++i)
        logging.acquire(resource, {.wait = 120s}).release();
    EXPECT_TRUE(wait_until([&] { return count() == 1; }));
    EXPECT_NE(told.at(0).find("does not take part"), std::string::npos);
    proxy(1).accept_again();
    EXPECT_TRUE(wait_until([&] {
        logging.acquire(resource, {.wait = 120s}).release();
        return count() == 2;
    }));
    EXPECT_NE(told.at(1).find("takes part in Redlock again"), std::string::npos);
}

TEST_F(redlock_waiting, a_child_makes_a_client_of_its_own_over_its_parents_servers)
{
    if (!children_may_start_threads)
        GTEST_SKIP();
    locks.acquire(resource).release(); // leaves idle connections
    auto const child = ::fork();
    if (child == 0) {
        int status = 9;
        try {
            client own{group, shared_postgres().conninfo(), {.fall_back = false}};
            status = 0;
            for (int i = 0; i < 20; ++i) {
                auto held = own.acquire(resource + ":child", {.wait = 120s});
                if (servers_with(held) != 0 || held.release() != release_outcome::released)
                    status = 1;
            }
        } catch (std::exception const&) {
        }
        ::_exit(status);
    }
    for (int i = 0; i < 20; ++i) {
        auto held = locks.acquire(resource, {.wait = 120s});
        EXPECT_GE(servers_with(held), 2);
        EXPECT_EQ(held.release(), release_outcome::released);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace
} // namespace fencelock::test
