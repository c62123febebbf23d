// Who is renewed when: thousands at a time, slow servers beside quick ones, releases beside
// renewals.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <thread>

#include "memory_issuer.hpp"

namespace fencelock::test {
namespace {

using clock = std::chrono::steady_clock;

constexpr bool memory_is_ours = !address_sanitizer && !thread_sanitizer; // else mostly theirs

// A line of this process's status: a number, of KiB where it is memory.
long status_of_process(std::string const& name)
{
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":"))
            return std::stol(line.substr(name.size() + 1));
    return 0;
}

void expect_growth_below(long kib, long before)
{
    if (memory_is_ours) {
        EXPECT_LT(status_of_process("VmRSS") - before, kib);
    }
}

// For what has to happen within a TTL: where this machine is too slow, it has to within a longer
// one, and all the rest takes longer by as much.
bool for_some_scale(std::function<bool(int scale)> const& happens)
{
    return happens(1) || happens(4) || happens(12);
}

bool is_renewed(client& locks, std::string const& resource, std::chrono::seconds ttl)
{
    auto const lock = locks.acquire(resource, {.ttl = ttl});
    auto const first_end = lock.valid_until();
    EXPECT_TRUE(wait_until([&] { return lock.valid_until() > first_end || !lock.held(); }));
    return lock.held();
}

TEST(renewal, never_begins_after_a_release_nor_is_under_way_beside_it)
{
    constexpr int rounds = 100'000;
    constexpr int at_a_time = 1000;
    auto const counting = std::make_shared<memory_issuer>();
    client locks{counting, shared_postgres().conninfo()};
    int released = 0;
    while (released < rounds) {
        std::vector<lock> held;
        for (int i = 0; i < at_a_time; ++i)
            held.push_back(locks.acquire("r", {.ttl = 300ms, .wait = 120s}));
        auto const seen = counting->renewals_begun();
        // They are due one after the other, from now on.
        EXPECT_TRUE(
            wait_until([&] { return counting->renewals_begun() > seen || !held.back().held(); }));
        for (auto& one : held) {
            released += one.release() == release_outcome::released ? 1 : 0;
            EXPECT_FALSE(counting->is_renewing(one.token()));
        }
    }
    EXPECT_EQ(counting->renewals_after_release(), 0U);
    EXPECT_EQ(counting->renewals_beside_release(), 0U);
}

// The renewal is under way for as long as the test says, so it is met by the release for certain.
class held_up_issuer final : public memory_issuer {
  public:
    std::string server_for(std::string const& resource) const override
    {
        return resource.starts_with("slow") ? "slow" : "quick";
    }

    void let_go()
    {
        std::lock_guard const guard{mutex_};
        holding_ = false;
        changed_.notify_all();
    }

    int held_up()
    {
        std::lock_guard const guard{mutex_};
        return held_up_;
    }

  private:
    void while_renewing(held_lease const& lease, clock::time_point deadline) override
    {
        if (server_for(lease.resource) != "slow")
            return;
        std::unique_lock guard{mutex_};
        ++held_up_;
        bool const in_time = changed_.wait_until(guard, deadline, [this] { return !holding_; });
        --held_up_;
        if (!in_time)
            throw outcome_unknown{"held up"};
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool holding_ = true;
    int held_up_ = 0;
};

TEST(renewal, that_is_under_way_is_waited_for_by_a_release)
{
    EXPECT_TRUE(for_some_scale([](int scale) {
        auto const issuer = std::make_shared<held_up_issuer>();
        client locks{issuer, shared_postgres().conninfo()};
        auto lock = locks.acquire("slow", {.ttl = scale * 3s});
        EXPECT_TRUE(wait_until([&] { return issuer->held_up() == 1 || !lock.held(); }));
        std::thread other{[&] {
            EXPECT_TRUE(wait_until([&] { return !lock.held(); }));
            issuer->let_go();
        }};
        auto const outcome = lock.release();
        other.join();
        EXPECT_EQ(issuer->renewals_beside_release(), 0U);
        return outcome == release_outcome::released;
    }));
}

// What is still due then starts no thread that nobody would wait for: the process would end with
// it.
TEST(renewal, of_a_client_that_ends_is_waited_for_with_all_that_was_due)
{
    for (int i = 0; i < 30; ++i) {
        auto const issuer = std::make_shared<held_up_issuer>();
        auto locks = std::make_unique<client>(issuer, shared_postgres().conninfo());
        std::vector<lock> held;
        for (int j = 0; j < 50; ++j)
            held.push_back(locks->acquire("slow", {.ttl = 300ms, .wait = 120s}));
        EXPECT_TRUE(wait_until([&] { return issuer->held_up() > 0 || !held.back().held(); }));
        std::thread other{[&] { issuer->let_go(); }};
        held.clear();
        locks.reset();
        other.join();
    }
}

TEST(renewal, at_a_server_that_does_not_answer_delays_nobody_elses)
{
    EXPECT_TRUE(for_some_scale([](int scale) {
        auto const issuer = std::make_shared<held_up_issuer>();
        client locks{issuer, shared_postgres().conninfo()};
        std::atomic<int> lost{0};
        std::vector<lock> slow;
        for (int i = 0; i < 1000; ++i)
            slow.push_back(locks.acquire(
                "slow", {.ttl = scale * 9s, .on_lost = [&](lock_lost const&) { ++lost; }}));
        EXPECT_TRUE(wait_until([&] { return issuer->held_up() > 0 || lost > 0; }));
        // Long before all of those have been tried, and beside them.
        int renewed = 0;
        for (int i = 0; i < 3; ++i)
            renewed += is_renewed(locks, "quick", scale * 3s) ? 1 : 0;
        EXPECT_TRUE(wait_until([&] { return lost == 1000; }));
        issuer->let_go();
        return renewed == 3 && is_renewed(locks, "slow", scale * 3s);
    }));
}

TEST(renewal, of_a_short_lease_does_not_wait_for_that_of_a_longer_one)
{
    client locks{std::make_shared<memory_issuer>(), shared_postgres().conninfo()};
    auto const longer = locks.acquire("long", {.ttl = 1h});
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(
            for_some_scale([&](int scale) { return is_renewed(locks, "short", scale * 3s); }));
}

// Executed, perhaps, but never answered.
class silent_issuer final : public memory_issuer {
    void while_renewing(held_lease const&, clock::time_point) override
    {
        throw outcome_unknown{"no answer"};
    }
};

TEST(renewal, that_was_not_answered_is_taken_back_when_the_lease_is_lost)
{
    auto const issuer = std::make_shared<silent_issuer>();
    client locks{issuer, shared_postgres().conninfo()};
    auto const lock = locks.acquire("r", {.ttl = 2s, .wait = 120s});
    EXPECT_TRUE(wait_until([&] { return !lock.held(); }));
    EXPECT_TRUE(wait_until([&] { return issuer->is_released(lock.token()); }));
    EXPECT_GT(locks.counters().failed_renewals, 0U);
}

// Made by the holder itself, and under way until its lease has been told lost.
class belated_issuer final : public memory_issuer {
  public:
    explicit belated_issuer(bool answers) : answers_{answers} {}

    std::atomic<bool> is_lost{false};

  private:
    void while_renewing(held_lease const&, clock::time_point) override
    {
        EXPECT_TRUE(wait_until([this] { return is_lost.load(); }));
        if (!answers_)
            throw outcome_unknown{"no answer"};
    }

    bool const answers_;
};

TEST(renewal, by_the_holder_that_is_answered_too_late_or_never_is_taken_back)
{
    for (bool const answers : {false, true}) {
        auto const issuer = std::make_shared<belated_issuer>(answers);
        client locks{issuer, shared_postgres().conninfo()};
        auto lock = locks.acquire(
            "r", {.ttl = 1s, .wait = 120s, .renew = false, .on_lost = [&](lock_lost const&) {
                      issuer->is_lost = true;
                  }});
        try {
            EXPECT_FALSE(lock.renew());
        } catch (outcome_unknown const&) {
            EXPECT_FALSE(answers);
        }
        bool const was_asked_for = issuer->renewals_begun() == 1; // else it was too late for that
        EXPECT_EQ(issuer->is_released(lock.token()), was_asked_for);
    }
}

TEST(renewal, of_a_lease_that_was_released_leaves_nothing_behind)
{
    auto const issuer = std::make_shared<memory_issuer>();
    client locks{issuer, shared_postgres().conninfo()};
    for (int i = 0; i < 1000; ++i)
        locks.acquire("r", {.ttl = 1h});
    auto const before = status_of_process("VmRSS");
    for (int i = 0; i < 50'000; ++i)
        locks.acquire("r", {.ttl = 1h});
    expect_growth_below(20'000, before); // the issuer's own memory of them is less than half
}

TEST(renewal, at_redis_revives_nothing_that_was_released)
{
    redis_locks redis{shared_redis().socket_url(), {.keys = key_preset::plain}};
    client locks{redis};
    std::vector<std::string> resources;
    std::uint64_t renewed = 0;
    for (int round = 0; round < 40 || renewed == 0; ++round) {
        std::vector<lock> held;
        for (int i = 0; i < 50; ++i) {
            resources.push_back(new_resource());
            held.push_back(locks.acquire(resources.back(), {.ttl = 150ms, .wait = 120s}));
        }
        auto const seen = locks.counters().renewals;
        EXPECT_TRUE(
            wait_until([&] { return locks.counters().renewals > seen || !held.back().held(); }));
        for (auto& one : held) {
            auto const outcome = one.release();
            EXPECT_NE(outcome, release_outcome::unknown);
            if (outcome == release_outcome::released) {
                EXPECT_EQ(shared_redis().command({"PTTL", "lock:" + one.resource()}), "-2");
            }
        }
        renewed = locks.counters().renewals;
    }
    auto const others = locks.acquire(resources.front(), {.ttl = 1h});
    for (std::size_t i = 1; i < resources.size(); ++i)
        EXPECT_EQ(shared_redis().command({"EXISTS", "lock:" + resources[i]}), "0");
}

TEST(renewal, of_ten_thousand_leases_at_redis_is_in_time)
{
    constexpr int handles = 10'000;
    redis_locks redis{shared_redis().socket_url(), {.keys = key_preset::plain}};
    std::atomic<int> lost{0};
    client locks{redis};
    auto const prefix = new_resource() + ":";
    auto const memory_before = status_of_process("VmRSS");
    auto const threads_before = status_of_process("Threads");
    std::vector<lock> held;
    for (int i = 0; i < handles; ++i)
        held.push_back(locks.acquire(prefix + std::to_string(i),
                                     {.ttl = 20s, .on_lost = [&](lock_lost const&) { ++lost; }}));
    std::vector<clock::time_point> first_ends;
    for (auto const& one : held)
        first_ends.push_back(one.valid_until());
    EXPECT_TRUE(wait_until([&] {
        for (std::size_t i = 0; i < held.size(); ++i)
            if (held[i].held() && held[i].valid_until() == first_ends[i])
                return false;
        return true;
    }));
    EXPECT_EQ(lost, 0);
    EXPECT_GE(locks.counters().renewals, static_cast<std::uint64_t>(handles));
    EXPECT_LE(status_of_process("Threads") - threads_before, 1 + 4); // one, and its helpers
    expect_growth_below(30'000, memory_before);
    for (auto& one : held)
        EXPECT_EQ(one.release(), release_outcome::released);
}

// A lease in PostgreSQL and one in Redis, of one client; the way to PostgreSQL is stuck.
TEST(renewal, in_a_stuck_database_delays_none_in_redis)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    test_support::redis_server server;
    redis_locks redis{server.url()};
    client locks{redis, conninfo_through(to_postgres)};
    auto const resource = new_resource();
    locks.acquire(resource).release(); // a block is at hand
    server.pause();
    std::vector<lock> in_database;
    for (int i = 0; i < 8; ++i)
        in_database.push_back(locks.acquire(new_resource(), {.ttl = 30s}));
    server.resume();
    EXPECT_EQ(in_database.front().issuer_name(), "database");
    auto in_redis = locks.acquire(resource, {.ttl = 30s});
    EXPECT_EQ(in_redis.issuer_name(), "redis");
    auto const first_end = in_redis.valid_until();
    to_postgres.hold_replies();
    EXPECT_TRUE(wait_until([&] { return in_redis.valid_until() > first_end; }));
    EXPECT_TRUE(in_redis.held());
    to_postgres.release();
}

} // namespace
} // namespace fencelock::test
