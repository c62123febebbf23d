// Locks that are shared with clients which keep the plain pair of keys.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace fencelock::test {
namespace {

class plain_keys : public ::testing::Test {
  protected:
    redis_options const options{.keys = key_preset::plain};
    redis_locks redis{shared_redis().socket_url(), options};
    client locks{redis, shared_postgres().conninfo()};
    std::string resource = new_resource();
    std::string counter = "fence:" + resource;

    // What the client in Python says.
    std::string plain_client(std::vector<std::string> const& arguments)
    {
        auto const output = directory_.path() / std::to_string(++runs_);
        std::vector<std::string> argv{"/usr/bin/python3", // the one that Debian's packages serve
                                      PLAIN_CLIENT_PROGRAM, shared_redis().socket_path().string()};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        test_support::child_process program{{.argv = argv, .output = output}};
        auto const status = program.wait(test_support::generous_limit);
        std::ifstream file{output};
        std::string line;
        std::getline(file, line);
        EXPECT_EQ(status, 0) << line;
        return line;
    }

  private:
    test_support::temporary_directory directory_{"fencelock-plain"};
    int runs_ = 0;
};

TEST_F(plain_keys, locks_and_counters_are_shared_with_a_python_client_both_ways)
{
    auto ours = locks.acquire(resource);
    EXPECT_EQ(ours.token(), 1);
    EXPECT_EQ(plain_client({"acquire", resource, "theirs", "60000"}), "held");
    EXPECT_EQ(plain_client({"release", resource, "theirs"}), "not held");
    EXPECT_TRUE(ours.renew());
    EXPECT_EQ(ours.release(), release_outcome::released);

    EXPECT_EQ(plain_client({"acquire", resource, "theirs", "60000"}), "2");
    EXPECT_FALSE(locks.try_acquire(resource));
    std::thread waiter{[&] { EXPECT_EQ(locks.acquire(resource, {.wait = 120s}).token(), 3); }};
    EXPECT_EQ(plain_client({"release", resource, "theirs"}), "released");
    waiter.join();
    EXPECT_EQ(plain_client({"acquire", resource, "theirs", "60000"}), "4");
}

TEST_F(plain_keys, a_transaction_presents_the_token)
{
    auto lock = locks.acquire(resource);
    EXPECT_EQ(lock.transaction([](pqxx::work&) { return 7; }), 7);
    EXPECT_EQ(mark_of(shared_postgres(), resource), lock.token());
}

TEST_F(plain_keys, a_lost_reply_costs_no_token)
{
    test_support::tcp_proxy proxy{shared_redis().socket_path()};
    redis_locks through{proxy.url(), options};
    client unlucky{through, shared_postgres().conninfo()};
    unlucky.acquire(new_resource()).release(); // the server knows the scripts
    proxy.drop_next_reply("lock:" + resource);
    auto lock = unlucky.acquire(resource);
    EXPECT_EQ(proxy.replies_dropped(), 1U);
    EXPECT_EQ(shared_redis().command({"GET", counter}), std::to_string(lock.token()));
}

TEST_F(plain_keys, after_a_refusal_the_counter_is_lifted_above_the_mark)
{
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource + "', 1000)");
    auto early = locks.acquire(resource);
    EXPECT_EQ(early.token(), 1);
    EXPECT_THROW(early.transaction([](pqxx::work&) {}), stale_token);
    EXPECT_EQ(locks.acquire(resource).token(), 1001);

    shared_redis().command({"DEL", counter}); // and lost again
    auto confirmed = locks.acquire(resource, {.wait = 120s, .confirm = true});
    EXPECT_EQ(confirmed.token(), 1001); // the mark is 1000 still: the last grant wrote nothing
}

TEST_F(plain_keys, large_counters_are_exact)
{
    shared_redis().command({"SET", counter, "9007199254740992"});
    EXPECT_EQ(locks.acquire(resource).token(), 9007199254740993);
    shared_redis().command({"SET", counter, "9223372036854775806"});
    EXPECT_EQ(locks.acquire(resource).token(), 9223372036854775807);
}

TEST_F(plain_keys, a_counter_that_cannot_count_on_is_an_error_and_takes_no_lock)
{
    for (std::string const value : {"9223372036854775807", "many", "-5", "1.5"}) {
        shared_redis().command({"SET", counter, value});
        EXPECT_THROW(locks.try_acquire(resource), configuration_error) << value;
        EXPECT_FALSE(shared_redis().command({"GET", "lock:" + resource})) << value;
    }
}

TEST_F(plain_keys, there_is_no_fallback_that_would_count_differently)
{
    test_support::redis_server gone;
    redis_locks away{gone.socket_url(), options};
    client alone{away, shared_postgres().conninfo()};
    gone.stop();
    EXPECT_THROW(alone.try_acquire(resource), issuer_unavailable);
}

TEST_F(plain_keys, a_replica_grants_nothing)
{
    test_support::redis_server replica;
    replica.command({"CONFIG", "SET", "replica-read-only", "no"});
    replica.command({"REPLICAOF", "127.0.0.1", std::to_string(shared_redis().port())});
    redis_locks there{replica.socket_url(), options};
    client misled{there, shared_postgres().conninfo()};
    EXPECT_THROW(misled.try_acquire(resource), issuer_unavailable);
}

TEST_F(plain_keys, no_database_is_needed)
{
    client bare{redis};
    auto lock = bare.acquire(resource);
    EXPECT_EQ(lock.token(), 1);
    EXPECT_THROW(lock.transaction([](pqxx::work&) {}), configuration_error);
    pqxx::connection connection{shared_postgres().conninfo()};
    lock.transaction(connection, [](pqxx::work&) {});
    EXPECT_EQ(mark_of(shared_postgres(), resource), 1);
    EXPECT_TRUE(lock.held());

    redis_locks tagged{shared_redis().socket_url()};
    EXPECT_THROW(client{tagged}, invalid_argument);
}

} // namespace
} // namespace fencelock::test
