// Redis away and back: leases from PostgreSQL meanwhile, tokens that never fall.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <future>

namespace fencelock::test {
namespace {

class fallback : public ::testing::Test {
  protected:
    test_support::redis_server server;
    redis_locks redis{server.url()};
    client locks{redis, shared_postgres().conninfo()};
    std::string resource = new_resource();
};

TEST_F(fallback, tokens_grow_while_redis_goes_and_comes)
{
    std::int64_t token = 0;
    for (int i = 0; i < 2; ++i) {
        for (bool const away : {false, true}) {
            if (away)
                server.kill9();
            else
                server.start();
            auto lock = locks.acquire(resource, {.wait = 120s, .confirm = true});
            EXPECT_EQ(lock.issuer_name(), away ? "database" : "redis");
            EXPECT_GT(lock.token(), token);
            token = lock.token();
            lock.transaction([](pqxx::work&) {});
            EXPECT_EQ(lock.release(), release_outcome::released);
        }
    }
}

TEST_F(fallback, tokens_do_not_fall_when_redis_kept_its_block)
{
    test_support::tcp_proxy proxy{server.socket_path()};
    redis_locks through{proxy.url()};
    client partly_cut{through, shared_postgres().conninfo()};
    auto const first = partly_cut.acquire(resource).token();
    proxy.refuse();
    proxy.cut_all();
    auto lease = partly_cut.acquire(resource);
    EXPECT_EQ(lease.issuer_name(), "database");
    EXPECT_GT(lease.token(), first);
    lease.confirm();
    lease.release();
    proxy.accept_again();
    auto back = partly_cut.acquire(resource, {.wait = 120s, .confirm = true});
    EXPECT_EQ(back.issuer_name(), "redis");
    EXPECT_GT(back.token(), lease.token());
}

TEST_F(fallback, one_refusal_is_enough_for_everybody)
{
    locks.acquire(resource).release();
    client of_leases{shared_postgres().conninfo()}; // retires Redis' block
    of_leases.acquire(resource).release();

    client first{redis, shared_postgres().conninfo()};
    auto refused = first.acquire(resource);
    EXPECT_THROW(refused.transaction([](pqxx::work&) {}), stale_token);

    // Another process, which knows nothing of the refusal.
    client second{redis, shared_postgres().conninfo()};
    auto lock = second.acquire(resource);
    EXPECT_EQ(lock.issuer_name(), "redis");
    EXPECT_GT(lock.token(), refused.token());
    lock.transaction([](pqxx::work&) {});
}

TEST_F(fallback, a_lock_that_others_hold_is_no_reason)
{
    client others{redis, shared_postgres().conninfo()};
    auto holder = others.acquire(resource);
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_EQ(shared_postgres()
                  .query("SELECT count(*) FROM \"Fence it\".fence_issuer WHERE resource = '" +
                         resource + "' AND lease_owner IS NOT NULL")
                  .value_or("no such column"),
              "0");
}

TEST_F(fallback, can_be_turned_off)
{
    client strict{redis, shared_postgres().conninfo(), {.fall_back = false}};
    server.kill9();
    EXPECT_THROW(strict.try_acquire(resource), issuer_unavailable);
}

TEST_F(fallback, both_away_is_told_with_both_reasons)
{
    test_support::tcp_proxy gone{server.socket_path()};
    redis_locks nowhere{gone.url()};
    client locks_of_nobody{nowhere, conninfo_through(gone)};
    gone.refuse();
    try {
        locks_of_nobody.try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("PostgreSQL"), std::string::npos) << e.what();
    }
}

// Redis may have done what it was asked for, and may yet.
TEST_F(fallback, a_redis_that_did_not_answer_leaves_it_unknown_where_postgresql_is_away)
{
    test_support::tcp_proxy to_redis{server.socket_path()};
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    redis_locks through{to_redis.url()};
    client cut_off{
        through, conninfo_through(to_postgres), {.attempt_timeout = 2s, .idle_connections = 0}};
    cut_off.acquire(resource, {.wait = 120s}).release(); // a block is at hand
    auto const other = cut_off.acquire(new_resource(), {.ttl = 1h, .wait = 120s}).detach();
    to_postgres.refuse();
    to_postgres.cut_all();
    to_redis.hold_replies();
    EXPECT_THROW(cut_off.try_acquire(resource), outcome_unknown);
    EXPECT_GT(to_redis.bytes_held(), 0U);
    EXPECT_THROW(cut_off.release(other), outcome_unknown);
    to_redis.release();
}

TEST_F(fallback, a_redis_that_did_not_answer_leaves_it_unknown_where_others_hold_it_in_postgresql)
{
    test_support::tcp_proxy to_redis{server.socket_path()};
    redis_locks through{to_redis.url()};
    client cut_off{through, shared_postgres().conninfo(), {.attempt_timeout = 2s}};
    client of_leases{shared_postgres().conninfo()};
    cut_off.acquire(resource, {.wait = 120s}).release(); // connected, with a block at hand
    auto const holder = of_leases.acquire(resource, {.ttl = 1h, .wait = 120s});
    to_redis.hold_replies();
    EXPECT_THROW(cut_off.acquire(resource), outcome_unknown); // no lock_timeout: Redis granted it
    EXPECT_GT(to_redis.bytes_held(), 0U);
    to_redis.release();
}

TEST_F(fallback, a_redis_that_did_not_answer_leaves_it_unknown_where_postgresql_refuses_for_good)
{
    test_support::tcp_proxy to_redis{server.socket_path()};
    redis_locks through{to_redis.url()};
    shared_postgres().create_database("barred");
    shared_postgres().query("CREATE EXTENSION fencelock", "barred");
    client cut_off{through,
                   shared_postgres().conninfo("barred"),
                   {.attempt_timeout = 2s, .idle_connections = 0}};
    cut_off.acquire(resource, {.wait = 120s}).release(); // connected, with a block at hand
    auto const other = cut_off.acquire(new_resource(), {.ttl = 1h, .wait = 120s}).detach();
    shared_postgres().query("ALTER DATABASE barred ALLOW_CONNECTIONS false");
    to_redis.hold_replies();
    EXPECT_THROW(cut_off.try_acquire(resource), outcome_unknown);
    EXPECT_GT(to_redis.bytes_held(), 0U);
    to_redis.release();
    EXPECT_THROW(cut_off.release({resource, "nobody", 1}), configuration_error);
    to_redis.hold_replies();
    EXPECT_THROW(cut_off.release(other), outcome_unknown);
    to_redis.release();
}

TEST_F(fallback, a_grant_of_redis_that_comes_after_its_ttl_is_fallen_back_from)
{
    test_support::tcp_proxy to_redis{server.socket_path()};
    redis_locks through{to_redis.url(), {.command_timeout = 120s}};
    client slow{through, shared_postgres().conninfo(), {.attempt_timeout = 120s}};
    slow.acquire(resource, {.wait = 120s}).release(); // connected, with a block at hand
    to_redis.hold_replies();
    auto taken = std::async(std::launch::async,
                            [&] { return slow.acquire(resource, {.ttl = 5s, .wait = 120s}); });
    EXPECT_TRUE(wait_until([&] { return to_redis.bytes_held() > 0; }));
    EXPECT_TRUE(wait_until([&] { return !server.command({"GET", lock_key(resource)}); }));
    to_redis.release();
    EXPECT_EQ(taken.get().issuer_name(), "database");
}

TEST_F(fallback, a_frozen_redis_is_fallen_back_from_too)
{
    client impatient{redis, shared_postgres().conninfo(), {.attempt_timeout = 400ms}};
    impatient.acquire(resource, {.wait = 120s}).release();
    server.pause();
    auto lock = impatient.acquire(resource, {.wait = 120s});
    EXPECT_EQ(lock.issuer_name(), "database");
    server.resume();
}

} // namespace
} // namespace fencelock::test
