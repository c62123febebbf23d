// What can become of a Redis, on real ones: tokens stay unique and never fall below a claimed one.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "grant_record.hpp"

namespace fencelock::test {
namespace {

using test_support::redis_server;

class redis_fates : public ::testing::Test {
  protected:
    // Takes, claims and releases a lock; true where the claim was accepted.
    bool take(client& from)
    {
        auto lock = from.acquire(resource, {.wait = 120s});
        record.granted(lock);
        auto const accepted = record.claimed(lock);
        lock.release();
        return accepted;
    }

    // Until a claim is accepted; former holders may be refused on the way, but not for ever.
    void take_until_accepted(client& from)
    {
        for (int tries = 0; !take(from); ++tries)
            ASSERT_LT(tries, 3);
    }

    static std::unique_ptr<client> client_of(redis_locks& redis)
    {
        return std::make_unique<client>(redis, shared_postgres().conninfo(),
                                        client_options{.fall_back = false});
    }

    // Fills the memory until a key has been evicted.
    static void evict(redis_server& server, std::string const& key)
    {
        std::string const filler(20'000, 'x');
        int filled = 0;
        EXPECT_TRUE(wait_until([&] {
            for (int i = 0; i < 200; ++i)
                server.command(
                    {"SET", "filler:" + std::to_string(++filled), filler, "EX", "1000000"});
            return server.command({"EXISTS", key}) == "0";
        }));
    }

    std::string resource = new_resource();
    grant_record record;
};

TEST_F(redis_fates, restarts_with_and_without_memory)
{
    for (bool const persistent : {false, true}) {
        redis_server server{{.persistent = persistent}};
        redis_locks redis{server.url()};
        auto const locks = client_of(redis);
        for (int i = 0; i < 3; ++i) {
            take_until_accepted(*locks);
            server.restart();
            EXPECT_EQ(server.command({"EXISTS", state_key(resource)}), persistent ? "1" : "0");
            take_until_accepted(*locks);
            server.kill9();
            server.start();
        }
        take_until_accepted(*locks);
    }
}

TEST_F(redis_fates, eviction_of_lock_and_state_by_every_policy)
{
    redis_server server{{.arguments = {"--maxmemory", "8mb"}}};
    redis_locks redis{server.url()};
    auto const locks = client_of(redis);
    for (auto const* policy : {"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru",
                               "volatile-lfu", "volatile-random", "volatile-ttl"}) {
        server.command({"CONFIG", "SET", "maxmemory-policy", policy});
        take_until_accepted(*locks);
        evict(server, state_key(resource));
        take_until_accepted(*locks);

        auto former = locks->acquire(resource, {.ttl = 1h});
        record.granted(former);
        EXPECT_TRUE(record.claimed(former));
        evict(server, lock_key(resource));
        take_until_accepted(*locks);
        EXPECT_FALSE(record.claimed(former)) << policy;
        EXPECT_FALSE(former.renew()) << policy;
    }
}

TEST_F(redis_fates, a_full_memory_is_told)
{
    redis_server server{{.arguments = {"--maxmemory-policy", "noeviction"}}};
    redis_locks redis{server.url()};
    auto const locks = client_of(redis);
    auto lock = locks->acquire(resource, {.ttl = 1h});
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    try {
        locks->try_acquire(new_resource());
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("OOM"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(lock.renew());
    EXPECT_EQ(lock.release(), release_outcome::released);
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    take_until_accepted(*locks);
}

TEST_F(redis_fates, deletion_of_single_keys)
{
    redis_locks redis{shared_redis().url()};
    auto const locks = client_of(redis);
    for (auto const& key : {lock_key(resource), state_key(resource)}) {
        auto former = locks->acquire(resource);
        record.granted(former);
        EXPECT_TRUE(record.claimed(former));
        shared_redis().command({"DEL", key});
        if (key == state_key(resource)) {
            EXPECT_FALSE(locks->try_acquire(resource)); // the lock is held all the same
            former.release();
        }
        take_until_accepted(*locks);
        EXPECT_FALSE(record.claimed(former));
    }
}

// Nothing inside Redis can see that an administrator has put back an old state. The database can.
TEST_F(redis_fates, an_old_state_that_is_put_back_is_refused_by_the_database)
{
    redis_locks redis{shared_redis().url()};
    auto const locks = client_of(redis);
    take_until_accepted(*locks);
    auto const old_state = shared_redis().command({"DUMP", state_key(resource)}).value();
    for (int i = 0; i < 3; ++i)
        take_until_accepted(*locks);
    auto const mark = mark_of(shared_postgres(), resource);
    shared_redis().command({"RESTORE", state_key(resource), "0", old_state, "REPLACE"});
    auto unconfirmed = locks->acquire(resource);
    EXPECT_LE(unconfirmed.token(), mark);
    EXPECT_THROW(unconfirmed.confirm(), error); // stale, or another owner's
    auto next = locks->acquire(resource, {.confirm = true});
    record.granted(next);
    EXPECT_GT(next.token(), mark);
    EXPECT_EQ(mark_of(shared_postgres(), resource), next.token());
}

TEST_F(redis_fates, loading_is_told_and_waited_for)
{
    redis_server server{{.persistent = true, .arguments = {"--key-load-delay", "200"}}};
    redis_locks redis{server.url()};
    auto const locks = client_of(redis);
    take_until_accepted(*locks);
    server.command({"EVAL", "for i = 1, 20000 do redis.call('SET', 'filler:' .. i, i) end", "0"});
    server.stop();
    std::atomic<bool> told{false};
    std::thread asks_meanwhile{[&] {
        told = wait_until([&] {
            try {
                locks->try_acquire(resource);
            } catch (issuer_unavailable const& e) {
                return std::string{e.what()}.find("LOADING") != std::string::npos;
            } catch (outcome_unknown const&) { // too slow this time
            }
            return false;
        });
    }};
    server.start();
    asks_meanwhile.join();
    EXPECT_TRUE(told);
    take_until_accepted(*locks);
}

TEST_F(redis_fates, a_connection_that_falls_silent_is_no_loss)
{
    test_support::tcp_proxy proxy{shared_redis().socket_path()};
    redis_locks redis{proxy.url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 3s}};
    auto lock = locks.acquire(resource, {.ttl = 1h, .wait = 120s});
    proxy.hold_replies();
    EXPECT_THROW(lock.renew(), outcome_unknown);
    EXPECT_TRUE(lock.held());
    EXPECT_THROW(locks.try_acquire(resource), error); // not: held by another
    EXPECT_EQ(lock.release(), release_outcome::unknown);
    proxy.release();
    EXPECT_TRUE(wait_until([&] { return lock.release() != release_outcome::unknown; }));
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

class redis_replication : public redis_fates {
  protected:
    static std::string role_of(redis_server const& server)
    {
        return server.command({"INFO", "replication"}).value();
    }

    static void follow(redis_server const& server, int port)
    {
        server.command({"REPLICAOF", "127.0.0.1", std::to_string(port)});
        ASSERT_TRUE(wait_until(
            [&] { return role_of(server).find("master_link_status:up") != std::string::npos; }));
    }

    redis_server first{{.arguments = {"--repl-diskless-sync-delay", "0"}}};
    redis_server second{{.arguments = {"--repl-diskless-sync-delay", "0"}}};
    redis_locks redis_of_first{first.url()};
    redis_locks redis_of_second{second.url()};
    std::unique_ptr<client> locks_of_first = client_of(redis_of_first);
    std::unique_ptr<client> locks_of_second = client_of(redis_of_second);
};

TEST_F(redis_replication, a_lagging_replica_is_promoted_and_both_grant_at_once)
{
    test_support::tcp_proxy stream{first.socket_path()};
    take_until_accepted(*locks_of_first);
    follow(second, stream.port());
    take_until_accepted(*locks_of_first);
    ASSERT_TRUE(wait_until([&] {
        return second.command({"HGET", state_key(resource), "last"}) ==
               first.command({"HGET", state_key(resource), "last"});
    }));
    stream.hold_replies(); // the replica hears no more
    for (int i = 0; i < 5; ++i)
        take_until_accepted(*locks_of_first);
    EXPECT_NE(second.command({"HGET", state_key(resource), "last"}),
              first.command({"HGET", state_key(resource), "last"}));
    second.command({"REPLICAOF", "NO", "ONE"});
    for (int i = 0; i < 5; ++i) {
        take(*locks_of_second);
        take(*locks_of_first);
    }
    take_until_accepted(*locks_of_second);
    stream.release();
}

TEST_F(redis_replication, an_old_primary_comes_back_and_is_promoted_again)
{
    follow(second, first.port());
    for (int reign = 0; reign < 2; ++reign) {
        take_until_accepted(*locks_of_first);
        second.command({"REPLICAOF", "NO", "ONE"});
        take(*locks_of_second);
        take(*locks_of_first);
        follow(first, second.port());
        EXPECT_THROW(locks_of_first->try_acquire(resource), issuer_unavailable);
        take_until_accepted(*locks_of_second);
        first.command({"REPLICAOF", "NO", "ONE"});
        take_until_accepted(*locks_of_first);
        follow(second, first.port());
    }
}

TEST_F(redis_replication, a_demoted_server_knows_of_no_lock_whether_it_can_be_written_or_not)
{
    auto lock = locks_of_first->acquire(resource, {.ttl = 1h});
    for (auto const* read_only : {"yes", "no"}) {
        first.command({"CONFIG", "SET", "replica-read-only", read_only});
        first.command({"REPLICAOF", "127.0.0.1", "1"}); // nobody is there
        // Neither "held by another" while it is, nor "not held" for its holder, on connections old
        // and new.
        for (int i = 0; i < 2; ++i)
            EXPECT_THROW(locks_of_first->try_acquire(resource), issuer_unavailable);
        EXPECT_THROW(lock.renew(), issuer_unavailable);
        EXPECT_TRUE(lock.held());
        EXPECT_THROW(locks_of_first->try_acquire(new_resource()), issuer_unavailable);
        first.command({"REPLICAOF", "NO", "ONE"});
        EXPECT_TRUE(lock.renew());
    }
    first.command({"REPLICAOF", "127.0.0.1", "1"});
    EXPECT_EQ(lock.release(), release_outcome::unknown);
    first.command({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(redis_replication, a_replica_without_its_primary_is_told_by_its_own_word)
{
    first.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    first.command({"REPLICAOF", "127.0.0.1", "1"});
    try {
        locks_of_first->try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("MASTERDOWN"), std::string::npos) << e.what();
    }
}

TEST_F(redis_replication, too_few_replicas_are_told)
{
    first.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    try {
        locks_of_first->try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("NOREPLICAS"), std::string::npos) << e.what();
    }
    follow(second, first.port());
    EXPECT_TRUE(locks_of_first->try_acquire(resource, {.wait = 120s}));
}

} // namespace
} // namespace fencelock::test
