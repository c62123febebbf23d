// Blocks: who reserves them, and how many.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace fencelock::test {
namespace {

class seeding : public ::testing::Test {
  protected:
    redis_locks redis{shared_redis().socket_url(), {.block_size = 3}};
    std::string resource = new_resource();
};

TEST_F(seeding, a_block_is_used_to_its_end_before_the_next_is_reserved)
{
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto const first = locks.acquire(resource).token();
    for (int i = 1; i < 3; ++i)
        EXPECT_EQ(locks.acquire(resource).token(), first + i);
    EXPECT_EQ(issued(resource), first + 2);
    EXPECT_EQ(locks.acquire(resource).token(), first + 3);
    EXPECT_EQ(issued(resource), first + 5);
}

TEST_F(seeding, clients_that_seed_at_once_reserve_one_block_together)
{
    constexpr int clients = 6;
    std::atomic<int> granted{0};
    std::vector<std::unique_ptr<client>> all;
    std::vector<std::optional<lock>> held(clients);
    for (int i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<client>(redis, shared_postgres().conninfo(),
                                               client_options{.fall_back = false}));
        all.back()->acquire(new_resource()); // connected by now
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i)
        threads.emplace_back([&, i] {
            held[static_cast<std::size_t>(i)] =
                all[static_cast<std::size_t>(i)]->try_acquire(resource);
        });
    for (auto& thread : threads)
        thread.join();
    std::int64_t token = 0;
    for (auto const& lock : held)
        if (lock) {
            ++granted;
            token = lock->token();
        }
    EXPECT_EQ(granted, 1);
    EXPECT_EQ(issued(resource), token + 2); // one block of three
}

TEST_F(seeding, without_the_database_a_client_that_knew_it_goes_on_with_its_block)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    auto const conninfo = conninfo_through(to_postgres);
    client locks{redis, conninfo, {.fall_back = false}};
    auto const other = new_resource();
    locks.acquire(other, {.wait = 120s}).release();
    auto const first = locks.acquire(resource, {.wait = 120s}).token();
    to_postgres.refuse();
    to_postgres.cut_all();
    for (int i = 1; i < 3; ++i)
        EXPECT_EQ(locks.acquire(resource).token(), first + i);
    EXPECT_THROW(locks.try_acquire(resource), issuer_unavailable);

    client newcomer{redis, conninfo, {.fall_back = false}};
    EXPECT_THROW(newcomer.try_acquire(other), issuer_unavailable);
    EXPECT_TRUE(locks.try_acquire(other));
}

TEST_F(seeding, another_database_history_is_not_counted_on)
{
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto const first = locks.acquire(resource).token();
    shared_redis().command({"HSET", state_key(resource), "history", "somewhere else"});
    EXPECT_GT(locks.acquire(resource).token(), first + 1);
}

} // namespace
} // namespace fencelock::test
