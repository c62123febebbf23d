// Several locks at once: all or none.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "memory_issuer.hpp"

namespace fencelock::test {
namespace {

class lock_sets : public ::testing::Test {
  protected:
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string const stem = new_resource();
    std::string const a = stem + ":a";
    std::string const b = stem + ":b";

    static bool is_free(std::string const& resource)
    {
        return !shared_redis().command({"GET", lock_key(resource)});
    }
};

TEST_F(lock_sets, all_are_taken_in_the_order_of_their_names)
{
    auto both = locks.acquire({b, a, b});
    ASSERT_EQ(both.locks().size(), 2U);
    EXPECT_EQ(both.locks()[0].resource(), a);
    EXPECT_EQ(both.locks()[1].resource(), b);
    EXPECT_EQ(both.token(a), both.locks()[0].token());
    EXPECT_THROW(both.token("other"), invalid_argument);
    EXPECT_TRUE(both.held());
    EXPECT_TRUE(both.renew());
    EXPECT_FALSE(locks.try_acquire(a));
    EXPECT_FALSE(locks.try_acquire(b));
    EXPECT_EQ(both.release(), release_outcome::released);
    EXPECT_FALSE(both.held());
    EXPECT_TRUE(is_free(a) && is_free(b));
    EXPECT_EQ(both.release(), release_outcome::not_held);
}

TEST_F(lock_sets, where_one_is_held_by_others_none_is_taken)
{
    auto held = locks.acquire(b);
    EXPECT_FALSE(locks.try_acquire({a, b}));
    EXPECT_TRUE(is_free(a));
    try {
        locks.acquire(std::vector<std::string>{a, b}, {.wait = 1ms});
        FAIL();
    } catch (lock_timeout const& e) {
        EXPECT_EQ(e.resource(), b);
    }
    EXPECT_TRUE(is_free(a));
    held.release();
    EXPECT_TRUE(locks.try_acquire({a, b}));
    EXPECT_TRUE(is_free(a) && is_free(b)); // by the destructor
}

// Has every resource held by others at first; notes until when it is waited for.
class busy_issuer final : public memory_issuer {
  public:
    std::vector<std::chrono::steady_clock::time_point> ends_of_waits;

    std::optional<grant> try_acquire(lease_request const& request) override
    {
        if (met_.insert(request.resource).second)
            return std::nullopt;
        return memory_issuer::try_acquire(request);
    }

    std::unique_ptr<waiter> new_waiter(std::string const&) override
    {
        class noting final : public waiter {
          public:
            explicit noting(busy_issuer& to) : to_{to} {}
            void wait(std::chrono::steady_clock::time_point until, std::stop_token const&) override
            {
                to_.ends_of_waits.push_back(until);
            }

          private:
            busy_issuer& to_;
        };
        return std::make_unique<noting>(*this);
    }

  private:
    std::set<std::string> met_;
};

TEST_F(lock_sets, the_wait_is_one_for_all)
{
    auto const busy = std::make_shared<busy_issuer>();
    client at_busy{busy, shared_postgres().conninfo()};
    EXPECT_TRUE(at_busy.try_acquire({a, b}, {.wait = 1h}));
    ASSERT_EQ(busy->ends_of_waits.size(), 2U);
    EXPECT_LE(busy->ends_of_waits[1], busy->ends_of_waits[0] + 1ms); // it is of whole ones
}

TEST_F(lock_sets, what_was_taken_first_is_held_while_the_rest_is_waited_for)
{
    auto held = locks.acquire(b);
    std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire({b, a}, {.wait = 120s})); }};
    EXPECT_TRUE(wait_until([&] { return !is_free(a); }));
    held.release();
    waiter.join();
}

TEST_F(lock_sets, that_one_has_run_out_while_the_rest_was_waited_for_is_a_loss)
{
    auto held = locks.acquire(b);
    auto taken = std::async(std::launch::async, [&] {
        return locks.try_acquire({a, b}, {.ttl = 300ms, .wait = 120s, .renew = false});
    });
    EXPECT_TRUE(wait_until([&] { // it was taken, and is over
        return shared_redis().command({"HGET", state_key(a), "last"}) && is_free(a);
    }));
    held.release();
    EXPECT_THROW(taken.get(), lock_lost);
    EXPECT_TRUE(is_free(b));
}

TEST_F(lock_sets, opposite_orders_do_not_wait_for_each_other)
{
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (auto const& names : {std::vector{a, b}, std::vector{b, a}, std::vector{b}})
        threads.emplace_back([&, names] {
            for (int i = 0; i < 20; ++i) {
                auto both = locks.acquire(names, {.wait = 120s});
                EXPECT_EQ(++inside, 1);
                --inside;
            }
        });
    for (auto& thread : threads)
        thread.join();
}

TEST_F(lock_sets, a_transaction_presents_all_tokens)
{
    for (auto const level :
         {isolation::read_committed, isolation::repeatable_read, isolation::serializable}) {
        auto both = locks.acquire({a, b});
        EXPECT_EQ(both.transaction([](pqxx::work&) { return 7; }, {level}), 7);
        EXPECT_EQ(mark_of(shared_postgres(), a), both.token(a));
        EXPECT_EQ(mark_of(shared_postgres(), b), both.token(b));
    }
    auto both = locks.acquire({a, b});
    pqxx::connection connection{shared_postgres().conninfo()};
    both.transaction(connection, [](pqxx::work&) {});
    EXPECT_EQ(mark_of(shared_postgres(), b), both.token(b));
    both.confirm();
    pqxx::work tx{connection};
    both.claim(tx);
    tx.commit();
}

TEST_F(lock_sets, guarded_rows_of_all_resources_can_be_written)
{
    shared_postgres().query("DROP TABLE IF EXISTS set_rows");
    shared_postgres().query("CREATE TABLE set_rows (name text PRIMARY KEY)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('set_rows', '{name}')");
    auto both = locks.acquire({a, b});
    auto const insert = [&](pqxx::work& tx) {
        tx.exec("INSERT INTO set_rows VALUES (" + tx.quote(a) + "), (" + tx.quote(b) + ")");
    };
    EXPECT_THROW(both.locks()[0].transaction(insert), token_required);
    both.transaction(insert);
    EXPECT_EQ(shared_postgres().query("SELECT count(*) FROM set_rows"), "2");
}

TEST_F(lock_sets, a_refusal_of_one_token_writes_nothing_and_ends_that_handle_alone)
{
    for (std::string const& refused : {a, b}) {
        auto both = locks.acquire({a, b});
        shared_postgres().query("SELECT \"Fence it\".fence_check('" + refused +
                                "', \"Fence it\".fence_issue('" + refused + "'))");
        auto const other = refused == a ? b : a;
        auto const mark = mark_of(shared_postgres(), other);
        try {
            both.transaction([](pqxx::work&) { FAIL(); });
            FAIL();
        } catch (stale_token const& e) {
            EXPECT_EQ(e.resource(), refused);
            EXPECT_EQ(e.token(), both.token(refused));
        }
        EXPECT_FALSE(both.held());
        EXPECT_EQ(mark_of(shared_postgres(), other), mark);
        for (auto const& one : both.locks())
            EXPECT_EQ(one.held(), one.resource() == other);
        EXPECT_THROW(both.transaction([](pqxx::work&) {}), lock_lost);
    }
}

TEST_F(lock_sets, the_loss_of_one_is_told_once)
{
    std::atomic<int> told{0};
    auto both = locks.acquire({a, b}, {.ttl = 6s, .on_lost = [&](lock_lost const& e) {
                                           EXPECT_EQ(e.resource(), b);
                                           ++told;
                                       }});
    EXPECT_FALSE(both.stop_token().stop_requested());
    shared_redis().command({"DEL", lock_key(b)});
    EXPECT_TRUE(wait_until([&] { return told == 1; }));
    EXPECT_TRUE(both.stop_token().stop_requested());
    EXPECT_FALSE(both.held());
    EXPECT_EQ(both.release(), release_outcome::not_held);
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(is_free(a));
}

TEST_F(lock_sets, a_move_takes_the_locks_along)
{
    auto first = locks.acquire(std::vector{a});
    lock_set second{std::move(first)};
    EXPECT_FALSE(first.held());
    EXPECT_LT(first.valid_until() - std::chrono::steady_clock::now(), 0s);
    EXPECT_THROW(first.transaction([](pqxx::work&) {}), lock_lost);
    EXPECT_TRUE(second.held());
    second = locks.acquire(std::vector{b});
    EXPECT_TRUE(is_free(a));
    EXPECT_FALSE(is_free(b));
}

TEST_F(lock_sets, bad_arguments_take_nothing)
{
    EXPECT_THROW(locks.try_acquire(std::vector<std::string>{}), invalid_argument);
    EXPECT_THROW(locks.try_acquire(std::vector<std::string>{a, ""}), invalid_argument);
    EXPECT_TRUE(is_free(a));
}

} // namespace
} // namespace fencelock::test
