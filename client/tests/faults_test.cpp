// Lost replies, late requests, servers that forget, and servers that freeze.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace fencelock::test {
namespace {

class faults : public ::testing::Test {
  protected:
    test_support::tcp_proxy proxy{shared_redis().socket_path()};
    redis_locks redis{proxy.url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

TEST_F(faults, a_lost_reply_is_asked_for_again_and_costs_no_token)
{
    locks.acquire(resource).release();
    proxy.drop_next_reply(lock_key(resource));
    auto lock = locks.acquire(resource);
    EXPECT_EQ(proxy.replies_dropped(), 1U);
    EXPECT_EQ(shared_redis().command({"HGET", state_key(resource), "last"}).value(),
              std::to_string(lock.token()));
    EXPECT_EQ(shared_redis().command({"GET", lock_key(resource)}).value(),
              std::to_string(lock.token()) + ":" + lock.owner());
    auto const token = lock.token();
    lock.release();
    EXPECT_EQ(locks.acquire(resource).token(), token + 1);
}

TEST_F(faults, a_lost_demand_for_a_seed_costs_no_second_block)
{
    locks.acquire(new_resource()).release(); // the server knows the scripts
    proxy.drop_next_reply(lock_key(resource));
    auto first = locks.acquire(resource);
    EXPECT_EQ(proxy.replies_dropped(), 1U);
    EXPECT_EQ(issued(resource), first.token() + 999);
}

TEST_F(faults, an_unanswered_acquire_is_unknown_and_takes_no_lock_when_it_arrives_late)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 3s}};
    impatient.acquire(resource, {.wait = 120s}).release(); // a connection is open and idle now
    auto const before = script_calls(shared_redis());
    proxy.hold_requests();
    try {
        impatient.try_acquire(resource);
        FAIL();
    } catch (outcome_unknown const& e) {
        EXPECT_EQ(e.resource(), resource);
    }
    EXPECT_GT(proxy.bytes_held(), 0U);
    proxy.release();
    EXPECT_TRUE(wait_until([&] { return script_calls(shared_redis()) > before; }));
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    EXPECT_TRUE(locks.try_acquire(resource));
}

TEST_F(faults, an_acquire_whose_reply_never_comes_is_released)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 3s}};
    impatient.acquire(resource, {.wait = 120s}).release();
    proxy.hold_replies(); // the server grants, nobody hears of it
    EXPECT_THROW(impatient.try_acquire(resource, {.ttl = 1h}), outcome_unknown);
    proxy.release();
    EXPECT_TRUE(wait_until([&] { return !shared_redis().command({"GET", lock_key(resource)}); }));
}

TEST_F(faults,
       an_acquire_whose_first_request_was_not_answered_is_unknown_where_no_block_is_to_be_had)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    client through{redis, conninfo_through(to_postgres), {.fall_back = false}};
    through.acquire(new_resource(), {.wait = 120s}).release(); // knows the database by now
    to_postgres.refuse();
    to_postgres.cut_all();
    proxy.drop_next_reply(lock_key(resource));
    EXPECT_THROW(through.try_acquire(resource), outcome_unknown);
    EXPECT_EQ(proxy.replies_dropped(), 1U);
}

TEST_F(faults, an_acquire_that_was_not_answered_once_stays_unknown_while_it_is_tried_again)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 1s}};
    impatient.acquire(resource, {.wait = 120s}).release(); // connected by now
    proxy.hold_replies();
    auto taken = std::async(std::launch::async,
                            [&] { return impatient.try_acquire(resource, {.wait = 3s}); });
    EXPECT_TRUE(wait_until([&] { return proxy.bytes_held() > 0; }));
    proxy.refuse();
    proxy.cut_all();
    EXPECT_THROW(taken.get(), outcome_unknown);
}

TEST_F(faults, an_unreachable_server_is_told_at_once)
{
    proxy.refuse();
    try {
        locks.try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_EQ(e.resource(), resource);
    }
}

TEST_F(faults, scripts_may_be_flushed_between_every_two_calls)
{
    auto flush = [] { shared_redis().command({"SCRIPT", "FLUSH"}); };
    std::int64_t token = 0;
    for (int i = 0; i < 3; ++i) {
        flush();
        auto lock = locks.acquire(resource);
        EXPECT_GT(lock.token(), token);
        token = lock.token();
        flush();
        EXPECT_TRUE(lock.renew());
        flush();
        EXPECT_EQ(lock.release(), release_outcome::released);
    }
}

TEST_F(faults, tokens_above_2_to_the_53_are_exact)
{
    auto const seeded = locks.acquire(resource);
    for (std::int64_t const last : {9007199254740992, 4611686018427387904, 9223372036854775806}) {
        shared_redis().command({"DEL", lock_key(resource)});
        shared_redis().command({"HSET", state_key(resource), "last", std::to_string(last), "end",
                                "9223372036854775807"});
        auto lock = locks.acquire(resource);
        EXPECT_EQ(lock.token(), last + 1);
        EXPECT_EQ(shared_redis().command({"GET", lock_key(resource)}).value(),
                  std::to_string(last + 1) + ":" + lock.owner());
    }
}

TEST_F(faults, a_reader_of_a_frozen_database_gives_up)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    client through{conninfo_through(to_postgres), {.attempt_timeout = 3s}};
    through.acquire(new_resource(), {.wait = 120s}).release();
    to_postgres.hold_replies();
    EXPECT_THROW(through.try_acquire(resource), outcome_unknown);
    to_postgres.release();
}

TEST_F(faults, a_database_that_falls_silent_behind_a_new_connection_is_given_up)
{
    client new_to_it{shared_postgres().conninfo(), {.attempt_timeout = 300ms}};
    pqxx::connection blocker{shared_postgres().conninfo()};
    {
        pqxx::work tx{blocker};
        tx.exec("LOCK TABLE pg_catalog.pg_extension IN ACCESS EXCLUSIVE MODE");
        EXPECT_THROW(new_to_it.try_acquire(resource), issuer_unavailable);
    }
    EXPECT_TRUE(new_to_it.try_acquire(resource, {.wait = 120s}));
}

TEST_F(faults, a_database_lease_that_has_to_wait_too_long_is_not_taken)
{
    client in_database{shared_postgres().conninfo(), {.attempt_timeout = 3s}};
    in_database.acquire(resource, {.wait = 120s}).release();
    pqxx::connection blocker{shared_postgres().conninfo()};
    {
        pqxx::work tx{blocker};
        tx.exec("SELECT \"Fence it\".fence_issue('" + resource + "')");
        EXPECT_THROW(in_database.try_acquire(resource), issuer_unavailable);
    }
    EXPECT_FALSE(somebody_waits_in_postgres());
    EXPECT_TRUE(in_database.try_acquire(resource, {.wait = 120s}));
}

TEST_F(faults, a_database_lease_that_is_asked_for_late_is_not_taken)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    auto const application = "late_" + resource;
    client through{conninfo_through(to_postgres) + " application_name=" + application,
                   {.attempt_timeout = 2s}};
    through.acquire(new_resource(), {.wait = 120s}).release(); // connected by now
    to_postgres.hold_requests();
    EXPECT_THROW(through.try_acquire(resource, {.ttl = 24h}), outcome_unknown);
    EXPECT_GT(to_postgres.bytes_held(), 0U);
    to_postgres.release();
    EXPECT_TRUE(wait_until([&] { // executed: the server has ended the session after it
        return shared_postgres().query("SELECT count(*) FROM pg_stat_activity WHERE "
                                       "application_name = '" +
                                       application + "'") == "0";
    }));
    EXPECT_EQ(shared_postgres().query("SELECT count(*) FROM \"Fence it\".fence_issuer WHERE "
                                      "resource = '" +
                                      resource + "'"),
              "0");
}

class forgetful_redis : public ::testing::Test {
  protected:
    test_support::redis_server server;
    redis_locks redis{server.url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

TEST_F(forgetful_redis, tokens_go_on_above_after_a_restart_without_memory)
{
    auto former = locks.acquire(resource);
    server.restart_empty();
    auto next = locks.acquire(resource, {.wait = 120s});
    EXPECT_GT(next.token(), former.token());
    next.transaction([](pqxx::work&) {});
    EXPECT_THROW(former.confirm(), stale_token);
}

TEST_F(forgetful_redis, tokens_go_on_above_after_flushall)
{
    std::int64_t token = 0;
    for (int i = 0; i < 3; ++i) {
        auto lock = locks.acquire(resource);
        EXPECT_GT(lock.token(), token);
        token = lock.token();
        server.command({"FLUSHALL"});
    }
}

TEST_F(forgetful_redis, an_old_state_under_a_new_lineage_is_not_counted_on)
{
    test_support::redis_server kept{{.persistent = true}};
    redis_locks redis_that_keeps{kept.url()};
    client keeping{redis_that_keeps, shared_postgres().conninfo(), {.fall_back = false}};
    auto const token = [&] { return keeping.acquire(resource, {.wait = 120s}).token(); }();
    kept.restart(); // its state is there again, perhaps an old one: only a new block is safe
    EXPECT_TRUE(kept.command({"HGET", state_key(resource), "last"}));
    EXPECT_GT(keeping.acquire(resource, {.wait = 120s}).token(), token + 990);
}

TEST_F(forgetful_redis, an_acquire_waits_through_a_restart)
{
    locks.acquire(resource).release();
    server.stop();
    EXPECT_THROW(locks.try_acquire(resource), issuer_unavailable);
    std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire(resource, {.wait = 120s})); }};
    server.start();
    waiter.join();
}

TEST_F(forgetful_redis, is_given_up_while_frozen_and_used_again_afterwards)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 300ms}};
    impatient.acquire(resource, {.wait = 120s}).release();
    server.pause();
    EXPECT_THROW(impatient.try_acquire(resource), error);
    server.resume();
    EXPECT_TRUE(impatient.try_acquire(resource, {.wait = 120s}));
}

} // namespace
} // namespace fencelock::test
