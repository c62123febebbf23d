// Counters and the log hook.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace fencelock::test {
namespace {

class observation : public ::testing::Test {
  protected:
    std::string const resource = new_resource();

    client_options logging(bool fall_back)
    {
        return {.fall_back = fall_back, .attempt_timeout = 30s, .log = [this](auto const& one) {
                    std::lock_guard const guard{mutex_};
                    entries_.push_back(one);
                }};
    }

    bool was_told(log_level level, std::string const& words)
    {
        std::lock_guard const guard{mutex_};
        return std::any_of(entries_.begin(), entries_.end(), [&](auto const& one) {
            return one.level == level && one.resource == resource &&
                   one.message.find(words) != std::string::npos;
        });
    }

    std::vector<log_entry> entries()
    {
        std::lock_guard const guard{mutex_};
        return entries_;
    }

  private:
    std::mutex mutex_;
    std::vector<log_entry> entries_;
};

TEST_F(observation, acquires_waits_and_releases_are_counted)
{
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), logging(false)};
    EXPECT_EQ(locks.counters().acquired, 0U);
    auto holder = locks.acquire(resource);
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_EQ(locks.counters().contended, 1U);
    EXPECT_EQ(locks.counters().waits, 0U);
    std::thread waiter{[&] { locks.acquire(resource, {.wait = 120s}); }};
    EXPECT_TRUE(wait_until([&] { return locks.counters().waits == 1; }));
    EXPECT_TRUE(holder.renew());
    holder.release();
    waiter.join();
    auto const counted = locks.counters();
    EXPECT_EQ(counted.acquired, 2U);
    EXPECT_GE(counted.contended, 2U);
    EXPECT_EQ(counted.waits, 1U);
    EXPECT_EQ(counted.released, 2U);
    EXPECT_GE(counted.renewals, 1U); // those in the background besides
    EXPECT_EQ(counted.seeds, 1U);
    EXPECT_EQ(counted.lost + counted.refused + counted.failed_renewals + counted.fallbacks, 0U);
    EXPECT_TRUE(was_told(log_level::info, "reserved the tokens"));
}

TEST_F(observation, losses_and_refusals_are_counted_and_told)
{
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), logging(false)};
    auto lost = locks.acquire(resource);
    shared_redis().command({"DEL", lock_key(resource)});
    EXPECT_FALSE(lost.renew());
    EXPECT_EQ(locks.counters().lost, 1U);
    EXPECT_TRUE(was_told(log_level::warning, "is over"));

    auto refused = locks.acquire(resource);
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource +
                            "', \"Fence it\".fence_issue('" + resource + "'))");
    EXPECT_THROW(refused.transaction([](pqxx::work&) {}), stale_token);
    EXPECT_EQ(locks.counters().refused, 1U);
    EXPECT_EQ(locks.counters().lost, 2U);
    EXPECT_TRUE(was_told(log_level::warning, "the database refused its token"));
}

TEST_F(observation, a_redis_that_is_away_is_told_without_its_password)
{
    test_support::redis_server server{{.password = "hunter2"}};
    redis_locks redis{server.url()};
    client locks{redis, shared_postgres().conninfo(), logging(true)};
    auto before = locks.acquire(resource, {.ttl = 60s});
    auto renewed = locks.acquire(new_resource(), {.ttl = 3s});
    server.stop();
    EXPECT_TRUE(wait_until([&] { return locks.counters().failed_renewals > 0; }));
    EXPECT_EQ(locks.acquire(resource).issuer_name(), "database");
    EXPECT_EQ(locks.counters().fallbacks, 1U);
    EXPECT_TRUE(was_told(log_level::warning, "is a lease in PostgreSQL"));
    for (auto const& one : entries())
        EXPECT_EQ(one.message.find("hunter2"), std::string::npos) << one.message;
}

TEST_F(observation, what_the_hook_throws_is_dropped)
{
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.log = [](log_entry const&) {
                     throw std::runtime_error{"full"};
                 }}};
    auto lock = locks.acquire(resource);
    EXPECT_EQ(locks.counters().seeds, 1U);
    EXPECT_TRUE(lock.held());
}

} // namespace
} // namespace fencelock::test
