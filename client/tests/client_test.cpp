// What a user sees: acquire, wait, release, refuse.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace fencelock::test {
namespace {

class redis_client : public ::testing::Test {
  protected:
    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

TEST_F(redis_client, a_lock_excludes_others_until_it_is_released)
{
    auto first = locks.try_acquire(resource);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->resource(), resource);
    EXPECT_EQ(first->issuer_name(), "redis");
    EXPECT_EQ(first->owner().size(), 32U);
    EXPECT_GT(first->token(), 0);
    EXPECT_TRUE(first->held());
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_EQ(first->release(), release_outcome::released);
    EXPECT_FALSE(first->held());
    EXPECT_EQ(first->release(), release_outcome::not_held);
    auto second = locks.try_acquire(resource);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->token(), first->token() + 1);
    EXPECT_NE(second->owner(), first->owner());
}

TEST_F(redis_client, valid_until_counts_from_before_the_request_and_less_than_the_ttl)
{
    auto const before = std::chrono::steady_clock::now();
    auto lock = locks.acquire(resource, {.ttl = 20s});
    auto const after = std::chrono::steady_clock::now();
    EXPECT_GE(lock.valid_until(), before + 19s);
    EXPECT_LE(lock.valid_until(), after + 20s - 202ms);
}

TEST_F(redis_client, the_lock_in_redis_has_the_ttl_and_the_state_an_idle_expiry)
{
    auto lock = locks.acquire(resource, {.ttl = 20s});
    auto const ttl = std::stoll(*shared_redis().command({"PTTL", lock_key(resource)}));
    EXPECT_GT(ttl, 0);
    EXPECT_LE(ttl, 20'000);
    auto const idle = std::stoll(*shared_redis().command({"PTTL", state_key(resource)}));
    EXPECT_GT(idle, 23 * 3'600'000);
    EXPECT_LE(idle, 24 * 3'600'000);
}

TEST_F(redis_client, as_many_connections_to_postgresql_are_kept_as_its_options_say)
{
    client few{redis,
               shared_postgres().conninfo() + " application_name='" + resource + "'",
               {.fall_back = false, .idle_connections = 2}};
    auto const connections = [this] {
        return shared_postgres().query("SELECT count(*) FROM pg_stat_activity "
                                       "WHERE application_name = '" +
                                       resource + "'");
    };
    auto first = few.acquire(resource + "/1");
    auto second = few.acquire(resource + "/2");
    auto third = few.acquire(resource + "/3");
    first.transaction([&](pqxx::work&) {
        second.transaction([&](pqxx::work&) {
            third.transaction([&](pqxx::work&) { EXPECT_EQ(connections(), "3"); });
        });
    });
    EXPECT_TRUE(wait_until([&] { return connections() == "2"; }));
}

TEST_F(redis_client, the_destructor_releases)
{
    {
        auto lock = locks.acquire(resource);
        EXPECT_TRUE(shared_redis().command({"GET", lock_key(resource)}));
    }
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

TEST_F(redis_client, a_waiter_gets_the_lock_once_it_is_released)
{
    test_support::tcp_proxy proxy{shared_redis().socket_path()};
    redis_locks waiters_redis{proxy.url()};
    client waiters_locks{waiters_redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto holder = locks.acquire(resource);
    auto const first = holder.token();
    std::thread waiter{[&] {
        auto lock = waiters_locks.acquire(resource, {.wait = 120s});
        EXPECT_GT(lock.token(), first);
    }};
    EXPECT_TRUE(
        wait_until([&] { return proxy.commands() >= 3; })); // TIME, and two that were refused
    EXPECT_EQ(holder.release(), release_outcome::released);
    waiter.join();
}

TEST_F(redis_client, acquire_throws_where_the_wait_is_over)
{
    auto holder = locks.acquire(resource);
    try {
        locks.acquire(resource, {.wait = 1ms});
        FAIL();
    } catch (lock_timeout const& e) {
        EXPECT_EQ(e.resource(), resource);
    }
}

TEST_F(redis_client, moving_a_handle_moves_the_lock)
{
    auto first = locks.acquire(resource);
    auto const token = first.token();
    lock second{std::move(first)};
    EXPECT_FALSE(first.held());
    EXPECT_THROW(first.token(), lock_lost);
    EXPECT_EQ(first.release(), release_outcome::not_held);
    EXPECT_EQ(second.token(), token);
    auto const other = new_resource();
    second = locks.acquire(other);
    EXPECT_EQ(second.resource(), other);
    EXPECT_TRUE(locks.try_acquire(resource)); // assignment released what was held
}

TEST_F(redis_client, any_utf8_name_can_be_locked)
{
    for (std::string const& name :
         {std::string{"}"}, std::string{"{a}"}, std::string{"\xC3\xA4 z"}, std::string{"a\nb"},
          std::string{"'; --"}, std::string{"\\"}, std::string{"\""}, std::string(1024, '}')}) {
        auto lock = locks.acquire(name);
        EXPECT_EQ(lock.resource(), name);
        EXPECT_EQ(lock.transaction([](pqxx::work&) { return 7; }), 7);
    }
}

TEST_F(redis_client, tokens_of_many_threads_never_repeat)
{
    std::mutex mutex;
    std::set<std::int64_t> tokens;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 25; ++i) {
                auto lock = locks.acquire(resource, {.wait = 120s});
                std::lock_guard const guard{mutex};
                EXPECT_TRUE(tokens.insert(lock.token()).second);
                EXPECT_EQ(*tokens.rbegin(), lock.token());
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(tokens.size(), 100U);
}

TEST_F(redis_client, bad_arguments_are_refused_before_anything_is_sent)
{
    test_support::tcp_proxy to_redis{"127.0.0.1", shared_redis().port()};
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    redis_locks watched{to_redis.url()};
    client watched_client{watched, conninfo_through(to_postgres)};
    for (std::string const& name : {std::string{}, std::string(1025, 'x'), std::string{"a\0b", 3},
                                    std::string{"\xFF"}, std::string{"\xED\xA0\x80"}})
        EXPECT_THROW(watched_client.try_acquire(name), invalid_argument);
    for (auto const ttl :
         {0ms, -1ms, std::chrono::milliseconds::min(), std::chrono::milliseconds::max(),
          std::chrono::milliseconds{24h * 365 + 6h} + 1ms})
        EXPECT_THROW(watched_client.try_acquire(resource, {.ttl = ttl}), invalid_argument);
    EXPECT_THROW(watched_client.try_acquire(resource, {.wait = -1ms}), invalid_argument);
    EXPECT_EQ(to_redis.connections(), 0U);
    EXPECT_EQ(to_postgres.connections(), 0U);
    EXPECT_TRUE(watched_client.try_acquire(resource));
    EXPECT_GT(to_redis.bytes_to_server(), 0U); // they do go through there
    EXPECT_GT(to_postgres.bytes_to_server(), 0U);
}

TEST_F(redis_client, a_bad_connection_string_is_refused_without_repeating_it)
{
    try {
        client{"password=hunter2 nonsense"};
        FAIL();
    } catch (invalid_argument const& e) {
        EXPECT_EQ(std::string{e.what()}.find("hunter2"), std::string::npos);
    }
}

TEST_F(redis_client, a_wrong_password_is_a_configuration_error)
{
    test_support::redis_server guarded{{.password = "right"}};
    redis_locks wrong{"redis://:hunter2@127.0.0.1:" + std::to_string(guarded.port())};
    client never{wrong, shared_postgres().conninfo()};
    try {
        never.try_acquire(resource);
        FAIL();
    } catch (configuration_error const& e) {
        EXPECT_EQ(std::string{e.what()}.find("hunter2"), std::string::npos);
    }
    redis_locks right{guarded.url()};
    EXPECT_TRUE(client(right, shared_postgres().conninfo()).try_acquire(resource));
}

TEST_F(redis_client, a_database_without_the_extension_is_a_configuration_error)
{
    shared_postgres().create_database("bare");
    EXPECT_THROW(client{shared_postgres().conninfo("bare")}.try_acquire(resource),
                 configuration_error);
}

TEST(database_client, names_mean_the_same_in_a_database_with_another_encoding)
{
    shared_postgres().query("DROP DATABASE IF EXISTS western WITH (FORCE)");
    shared_postgres().query(
        "CREATE DATABASE western TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    shared_postgres().query("CREATE EXTENSION fencelock", "western");
    client locks{shared_postgres().conninfo("western") + " client_encoding=LATIN1"};
    auto lock = locks.acquire("\xC3\xA4");
    lock.transaction([](pqxx::work&) {});
    EXPECT_EQ(shared_postgres().query("SELECT mark FROM fence_resource WHERE resource = chr(228)",
                                      "western"),
              std::to_string(lock.token()));
}

TEST(database_client, a_lease_excludes_others_until_it_is_released)
{
    client locks{shared_postgres().conninfo()};
    auto const resource = new_resource();
    auto first = locks.try_acquire(resource);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->issuer_name(), "database");
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_TRUE(first->renew());
    EXPECT_EQ(first->release(), release_outcome::released);
    auto second = locks.try_acquire(resource);
    ASSERT_TRUE(second);
    EXPECT_GT(second->token(), first->token());
}

// The very case that all this is about: a holder that stopped inside its transaction.
TEST(database_client, is_told_that_an_open_transaction_with_an_older_token_is_in_the_way)
{
    client locks{shared_postgres().conninfo()};
    auto const resource = new_resource();
    pqxx::connection stopped{shared_postgres().conninfo()};
    pqxx::work open{stopped};
    auto older = locks.acquire(resource, {.wait = 120s});
    older.claim(open);
    older.release();
    auto newer = locks.acquire(resource, {.wait = 120s});
    try {
        newer.confirm(500ms);
        ADD_FAILURE() << "confirmed";
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("\"" + resource + "\" was still waiting"),
                  std::string::npos)
            << e.what();
        EXPECT_NE(std::string{e.what()}.find("older token"), std::string::npos);
    }
}

// Whoever may create in a schema of the search_path could have the client's user run what it likes.
TEST(database_client, calls_no_operator_that_somebody_planted)
{
    shared_postgres().create_database("planted");
    for (std::string const sql :
         {"CREATE EXTENSION fencelock", "CREATE SCHEMA fields",
          "ALTER DATABASE planted SET search_path = fields, public",
          "CREATE FUNCTION fields.trap(int, numeric) RETURNS numeric LANGUAGE plpgsql AS "
          "'BEGIN RAISE EXCEPTION ''trapped''; END'",
          "CREATE FUNCTION fields.trap(int, float8) RETURNS float8 LANGUAGE plpgsql AS "
          "'BEGIN RAISE EXCEPTION ''trapped''; END'",
          "CREATE OPERATOR fields.* (FUNCTION = fields.trap, LEFTARG = int, RIGHTARG = numeric)",
          "CREATE OPERATOR fields.* (FUNCTION = fields.trap, LEFTARG = int, RIGHTARG = float8)"})
        shared_postgres().query(sql, "planted");
    EXPECT_ANY_THROW(shared_postgres().query("SELECT 1000 * 1.0::numeric", "planted"));
    client locks{shared_postgres().conninfo("planted")};
    auto lock = locks.acquire("order:1", {.wait = 120s, .confirm = true});
    lock.transaction([](pqxx::work&) {});
    EXPECT_TRUE(lock.renew());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

} // namespace
} // namespace fencelock::test
