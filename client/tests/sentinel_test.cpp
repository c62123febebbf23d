// A primary and a replica under three sentinels: found, followed, and never trusted with tokens.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "grant_record.hpp"

namespace fencelock::test {
namespace {

using test_support::redis_server;

bool has_line_after(std::string const& lines, std::string const& name, std::string const& value)
{
    return ("\n" + lines + "\n").find("\n" + name + "\n" + value + "\n") != std::string::npos;
}

class sentinels : public ::testing::Test {
  protected:
    static constexpr auto secret = "primary-secret";
    static constexpr auto sentinel_secret = "sentinel-secret";

    sentinels()
    {
        wait_for([&] { return info(replica, "master_link_status:up"); });
        for (auto& sentinel : watchers)
            wait_for([&] {
                auto const known = sentinel->command({"SENTINEL", "MASTER", "the primary"});
                return has_line_after(known.value(), "num-other-sentinels", "2") &&
                       has_line_after(known.value(), "num-slaves", "1");
            });
    }

    static void wait_for(std::function<bool()> const& condition)
    {
        ASSERT_TRUE(wait_until(condition));
    }

    // Whether the server says so. It closes all connections when sentinels demote it: then it is
    // asked again.
    static bool info(redis_server const& server, std::string const& line)
    {
        std::string said;
        wait_for([&] {
            try {
                said = server.command({"INFO", "replication"}).value();
                return true;
            } catch (std::runtime_error const&) {
                return false;
            }
        });
        return said.find(line) != std::string::npos;
    }

    std::unique_ptr<redis_server> new_sentinel() const
    {
        return std::make_unique<redis_server>(test_support::redis_options{
            .password = sentinel_secret,
            .arguments = {"--sentinel"},
            .configuration = "sentinel monitor \"the primary\" 127.0.0.1 " +
                             std::to_string(primary.port()) +
                             " 2\n"
                             "sentinel auth-pass \"the primary\" " +
                             std::string{secret} +
                             "\n"
                             "sentinel down-after-milliseconds \"the primary\" 1000\n"
                             "sentinel failover-timeout \"the primary\" 6000\n"});
    }

    // Through these sentinels; `name` as it stands in a URL.
    std::string url(std::string const& name = "the%20primary") const
    {
        std::string places;
        for (auto const& sentinel : watchers)
            places +=
                (places.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(sentinel->port()));
        return "redis+sentinel://:" + std::string{secret} + "@" + places + "/" + name;
    }

    static redis_options options()
    {
        redis_options chosen;
        chosen.command_timeout = 500ms;
        chosen.sentinel_password = sentinel_secret;
        return chosen;
    }

    // Takes and claims locks of the resource until one is claimed, of a server for which `good`.
    void claim_one(client& from, grant_record& record) const
    {
        wait_for([&] {
            try {
                auto lock = from.try_acquire(resource);
                if (!lock)
                    return false;
                record.granted(*lock);
                return record.claimed(*lock);
            } catch (issuer_unavailable const&) {
                return false;
            } catch (outcome_unknown const&) {
                return false;
            }
        });
    }

    redis_server primary{{.password = secret, .arguments = {"--masterauth", secret}}};
    redis_server replica{
        {.password = secret,
         .arguments = {"--masterauth", secret, "--replicaof", "127.0.0.1",
                       std::to_string(primary.port()), "--repl-diskless-sync-delay", "0"}}};
    std::array<std::unique_ptr<redis_server>, 3> watchers{new_sentinel(), new_sentinel(),
                                                          new_sentinel()};
    redis_locks redis{url(), options()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

TEST_F(sentinels, name_the_primary_whichever_of_them_answer)
{
    locks.acquire(resource, {.wait = 60s}).release();
    EXPECT_TRUE(primary.command({"EXISTS", state_key(resource)}) == "1");
    watchers[0]->kill9();
    watchers[1]->pause();
    redis_locks newcomer{url(), options()};
    client others{newcomer, shared_postgres().conninfo(), {.fall_back = false}};
    auto lock = others.acquire(resource, {.wait = 60s});
    EXPECT_TRUE(lock.renew());
    EXPECT_EQ(lock.release(), release_outcome::released);
    watchers[1]->resume();
}

TEST_F(sentinels, ask_for_one_right_of_their_user)
{
    try {
        for (auto& sentinel : watchers)
            sentinel->command({"ACL", "SETUSER", "finder", "on", ">found", "-@all",
                               "+sentinel|get-master-addr-by-name"});
    } catch (std::runtime_error const& e) {
        GTEST_SKIP() << "sentinels before 6.2 have no users: " << e.what();
    }
    redis_locks by_user{url() + "?sentinel_user=finder&sentinel_password=found"};
    client others{by_user, shared_postgres().conninfo(), {.fall_back = false}};
    EXPECT_TRUE(others.try_acquire(resource, {.wait = 60s}));
}

TEST_F(sentinels, refusals_of_theirs_are_told)
{
    auto refusal = [&](std::string const& from, redis_options const& with) -> std::string {
        redis_locks strange{from, with};
        client others{strange, shared_postgres().conninfo(), {.fall_back = false}};
        try {
            others.try_acquire(resource);
        } catch (configuration_error const& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_NE(refusal(url("another"), options()).find("no sentinel knows"), std::string::npos);
    EXPECT_NE(refusal(url(), {}).find("NOAUTH"), std::string::npos);
    auto wrong = options();
    wrong.sentinel_password = "wrong";
    EXPECT_NE(refusal(url(), wrong).find("WRONGPASS"), std::string::npos);
    EXPECT_EQ(refusal(url(), wrong).find("wrong,"), std::string::npos);
    for (auto& sentinel : watchers)
        sentinel->kill9();
    redis_locks lonely{url(), options()};
    client others{lonely, shared_postgres().conninfo(), {.fall_back = false}};
    EXPECT_THROW(others.try_acquire(resource), issuer_unavailable);
}

TEST_F(sentinels, a_killed_primary_is_replaced_and_tokens_go_on)
{
    grant_record record;
    for (int i = 0; i < 5; ++i)
        claim_one(locks, record);
    auto held = locks.acquire(resource, {.ttl = 1s, .wait = 60s, .renew = false});
    record.granted(held);
    primary.kill9();
    claim_one(locks, record); // of the replica, which may have got the lock or not
    EXPECT_TRUE(info(replica, "role:master"));
    EXPECT_FALSE(record.claimed(held));

    primary.start(); // empty, and for now it takes itself for a primary
    redis_locks former{primary.url(), {.command_timeout = 500ms}};
    client misled{former, shared_postgres().conninfo(), {.fall_back = false}};
    while (info(primary, "role:master")) {
        try {
            if (auto lock = misled.try_acquire(resource)) {
                record.granted(*lock);
                record.claimed(*lock);
            }
        } catch (error const&) { // it is being demoted
        }
        claim_one(locks, record);
    }
    EXPECT_THROW(misled.try_acquire(resource), issuer_unavailable);
    claim_one(locks, record);
}

TEST_F(sentinels, a_primary_that_was_stopped_grants_no_token_of_its_successor)
{
    grant_record record;
    claim_one(locks, record);
    redis_locks old_connection{primary.url(), {.command_timeout = 500ms}};
    client misled{old_connection, shared_postgres().conninfo(), {.fall_back = false}};
    claim_one(misled, record); // its connection stays open
    primary.pause();
    for (int i = 0; i < 5; ++i)
        claim_one(locks, record);
    EXPECT_TRUE(info(replica, "role:master"));
    primary.resume();
    // Both grant until the sentinels demote the old one.
    while (info(primary, "role:master")) {
        try {
            if (auto lock = misled.try_acquire(resource)) {
                record.granted(*lock);
                record.claimed(*lock);
            }
        } catch (issuer_unavailable const&) {
        } catch (outcome_unknown const&) {
        }
        claim_one(locks, record);
    }
    claim_one(locks, record);
    EXPECT_GT(record.grants(), 8U);
}

// The former primary takes itself for one still when it wakes up, and the client's connection to it
// is as good as ever.
TEST_F(sentinels, a_client_that_was_idle_through_a_failover_goes_to_the_successor)
{
    grant_record record;
    claim_one(locks, record);
    primary.pause();
    auto const port = std::to_string(replica.port());
    for (auto& sentinel : watchers)
        wait_for([&] {
            auto const named =
                sentinel->command({"SENTINEL", "get-master-addr-by-name", "the primary"});
            return named.value_or("").ends_with("\n" + port);
        });
    primary.resume();
    std::optional<lock> held;
    wait_for([&] {
        try {
            held = locks.try_acquire(resource, {.ttl = 1h});
        } catch (issuer_unavailable const&) { // it may not know of its promotion yet
        }
        return held.has_value();
    });
    EXPECT_EQ(replica.command({"GET", lock_key(resource)}),
              std::to_string(held->token()) + ":" + held->owner());
}

TEST_F(sentinels, a_waiter_of_a_demoted_primary_goes_on_at_its_successor)
{
    std::optional<lock> holder;
    wait_for([&] {
        try {
            holder = locks.try_acquire(resource, {.ttl = 1h, .renew = false});
        } catch (issuer_unavailable const&) { // no sentinel may know the primary yet
        }
        return holder.has_value();
    });
    wait_for([&] { return replica.command({"GET", lock_key(resource)}).has_value(); });
    std::atomic<bool> granted{false};
    std::thread waiter{[&] {
        redis_locks waiters_redis{url(), options()};
        client waiters{waiters_redis, shared_postgres().conninfo(), {.fall_back = false}};
        granted = waiters.try_acquire(resource, {.wait = 300s}).has_value();
    }};
    auto const blocked_at = [](redis_server const& server) {
        try {
            return blocked_clients(server) == 1;
        } catch (std::runtime_error const&) { // it closes all connections when it is demoted
            return false;
        }
    };
    wait_for([&] { return blocked_at(primary); });
    wait_for([&] { // the replica may not be known to all of them yet
        try {
            return watchers[0]->command({"SENTINEL", "FAILOVER", "the primary"}) == "OK";
        } catch (std::runtime_error const&) {
            return false;
        }
    });
    wait_for([&] { return info(primary, "role:slave") && info(replica, "role:master"); });
    wait_for([&] { return granted || blocked_at(replica); });
    EXPECT_FALSE(granted); // the successor knows of the lock
    wait_for([&] { return replica.command({"DEL", lock_key(resource)}) == "1"; });
    waiter.join();
    EXPECT_TRUE(granted);
}

TEST_F(sentinels, a_planned_failover_is_followed_by_a_held_lock)
{
    auto lock = locks.acquire(resource, {.ttl = 60s, .wait = 60s});
    wait_for([&] { return replica.command({"GET", lock_key(resource)}).has_value(); });
    watchers[0]->command({"SENTINEL", "FAILOVER", "the primary"});
    wait_for([&] { return info(primary, "role:slave"); });
    wait_for([&] {
        try {
            return lock.renew();
        } catch (issuer_unavailable const&) {
            return false;
        } catch (outcome_unknown const&) {
            return false;
        }
    });
    EXPECT_FALSE(locks.try_acquire(resource, {.wait = 1s}));
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_FALSE(replica.command({"GET", lock_key(resource)}));
    EXPECT_GT(locks.acquire(resource, {.wait = 60s}).token(), lock.token());
}

TEST_F(sentinels, a_held_lock_outlives_its_primary)
{
    grant_record record;
    auto held = locks.acquire(resource, {.ttl = 1h, .wait = 60s, .renew = false});
    record.granted(held);
    EXPECT_TRUE(record.claimed(held));
    wait_for([&] { return replica.command({"GET", lock_key(resource)}).has_value(); });
    // Every call gets through, or says that none could.
    auto const renewed = [&] {
        try {
            EXPECT_FALSE(locks.try_acquire(resource));
            return held.renew();
        } catch (issuer_unavailable const&) {
            return false;
        } catch (outcome_unknown const&) {
            return false;
        }
    };
    primary.kill9();
    wait_for([&] { return renewed() && info(replica, "role:master"); });
    EXPECT_TRUE(record.claimed(held));

    primary.start(); // empty: it knows of no lock
    wait_for([&] {
        renewed();
        return info(primary, "role:slave");
    });
    wait_for(renewed);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(held.release(), release_outcome::released);
    claim_one(locks, record);
    EXPECT_GT(record.highest_claim(), held.token());
}

} // namespace
} // namespace fencelock::test
