// A cluster of three primaries: slots are found, followed while they move, and missed when a node
// is gone.
#include "cluster_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "grant_record.hpp"

namespace fencelock::test {
namespace {

class cluster : public cluster_fixture {
  protected:
    cluster() : cluster_fixture{3, 0, 5s} {}

    // CLUSTER SETSLOT at a node.
    void set_slot(std::size_t at, std::string const& resource, std::string const& what,
                  std::size_t other)
    {
        nodes[at].command({"CLUSTER", "SETSLOT", std::to_string(nodes.slot_of(lock_key(resource))),
                           what, nodes.id_of(other)});
    }

    void begin_move(std::string const& resource, std::size_t from, std::size_t to)
    {
        set_slot(to, resource, "IMPORTING", from);
        set_slot(from, resource, "MIGRATING", to);
    }

    void move_key(std::string const& key, std::size_t from, std::size_t to)
    {
        EXPECT_EQ(nodes[from].command({"MIGRATE", "127.0.0.1", std::to_string(nodes[to].port()),
                                       key, "0", "10000"}),
                  "OK");
    }

    // With all that is left in the slot, e.g. a wake for the next waiter.
    void end_move(std::string const& resource, std::size_t from, std::size_t to)
    {
        auto const slot = std::to_string(nodes.slot_of(lock_key(resource)));
        auto const left = [&] {
            return nodes[from].command({"CLUSTER", "GETKEYSINSLOT", slot, "1"}).value();
        };
        for (auto key = left(); !key.empty(); key = left())
            nodes[from].command({"MIGRATE", "127.0.0.1", std::to_string(nodes[to].port()), key, "0",
                                 "10000", "REPLACE"}); // NOKEY where it has expired
        set_slot(to, resource, "NODE", to);
        set_slot(from, resource, "NODE", to);
    }
};

class cluster_client : public cluster {
  protected:
    redis_locks redis{nodes.url(), {.command_timeout = 500ms}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
};

TEST_F(cluster_client, locks_lie_where_their_slots_are)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const resource = resource_of(i);
        auto lock = locks.acquire(resource);
        EXPECT_TRUE(nodes[i].command({"GET", lock_key(resource)}));
        EXPECT_FALSE(locks.try_acquire(resource));
        EXPECT_TRUE(lock.renew());
        EXPECT_EQ(lock.release(), release_outcome::released);
        EXPECT_EQ(locks.acquire(resource).token(), lock.token() + 1);
    }
}

TEST_F(cluster_client, one_node_of_the_url_is_enough)
{
    auto const gone = test_support::redis_server{}.port();
    redis_locks others{"redis+cluster://127.0.0.1:" + std::to_string(gone) +
                       ",127.0.0.1:" + std::to_string(nodes[2].port())};
    client elsewhere{others, shared_postgres().conninfo(), {.fall_back = false}};
    EXPECT_TRUE(elsewhere.try_acquire(resource_of(0)));
}

TEST_F(cluster_client, a_held_lock_moves_with_its_slot)
{
    auto const resource = resource_of(0);
    grant_record record;
    auto lock = locks.acquire(resource, {.ttl = 60s});
    record.granted(lock);
    begin_move(resource, 0, 1);
    EXPECT_TRUE(lock.renew()); // still here
    move_key(lock_key(resource), 0, 1);
    EXPECT_TRUE(lock.renew()); // ASK
    // The keys are apart: nobody can tell who holds it, but nobody else gets it.
    EXPECT_THROW(locks.try_acquire(resource), error);
    move_key(state_key(resource), 0, 1);
    EXPECT_FALSE(locks.try_acquire(resource)); // ASK, for both keys
    end_move(resource, 0, 1);
    EXPECT_TRUE(lock.renew()); // MOVED
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_TRUE(record.claimed(lock));
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_FALSE(nodes[1].command({"GET", lock_key(resource)}));

    auto next = locks.acquire(resource); // another lineage counts from here
    record.granted(next);
    EXPECT_TRUE(record.claimed(next));
    EXPECT_GT(next.token(), lock.token());
}

TEST_F(cluster_client, tokens_go_on_when_a_slot_comes_back)
{
    auto const resource = resource_of(1);
    grant_record record;
    auto take = [&] {
        auto lock = locks.acquire(resource);
        record.granted(lock);
        EXPECT_TRUE(record.claimed(lock));
        lock.release();
    };
    std::size_t from = 1;
    for (std::size_t const to : {2U, 0U, 1U}) {
        take();
        begin_move(resource, from, to);
        move_key(state_key(resource), from, to);
        end_move(resource, from, to);
        take();
        from = to;
    }
    EXPECT_EQ(record.grants(), 6U);
}

TEST_F(cluster_client, a_lock_is_released_while_its_slot_moves)
{
    for (bool const has_left : {false, true}) {
        auto const resource = resource_of(0);
        auto lock = locks.acquire(resource, {.ttl = 1h});
        begin_move(resource, 0, 1);
        if (has_left)
            move_key(lock_key(resource), 0, 1);
        EXPECT_EQ(lock.release(), release_outcome::released);
        move_key(state_key(resource), 0, 1);
        end_move(resource, 0, 1);
        EXPECT_GT(locks.acquire(resource, {.wait = 60s}).token(), lock.token());
    }
}

TEST_F(cluster_client, a_node_that_is_gone_is_an_error_and_no_contention)
{
    auto const lost = resource_of(0);
    auto const kept = resource_of(1);
    auto const strict = resource_of(2); // its node serves all slots or none
    for (std::size_t i = 0; i < nodes.size(); ++i)
        nodes[i].command({"CONFIG", "SET", "cluster-node-timeout", "1000"});
    nodes[1].command({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
    for (auto const& resource : {lost, kept, strict})
        locks.acquire(resource).release();
    auto const former = locks.acquire(lost).token();
    nodes[0].kill9();
    EXPECT_THROW(locks.try_acquire(lost), issuer_unavailable);
    wait_for([&] {
        return nodes[2].command({"CLUSTER", "INFO"}).value().find("cluster_state:fail") !=
               std::string::npos;
    });
    EXPECT_THROW(locks.try_acquire(lost), issuer_unavailable);
    EXPECT_THROW(locks.try_acquire(strict), issuer_unavailable); // CLUSTERDOWN
    EXPECT_TRUE(locks.try_acquire(kept, {.wait = 60s}));
    nodes[0].start(); // without memory
    EXPECT_GT(locks.acquire(lost, {.wait = 60s, .confirm = true}).token(), former);
    EXPECT_TRUE(locks.try_acquire(strict, {.wait = 60s}));
}

TEST_F(cluster_client, the_smallest_acl_is_enough)
{
    for (std::size_t i = 0; i < nodes.size(); ++i)
        add_smallest_user(nodes[i], {"+blpop", "+cluster|slots", "+asking"});
    auto with_user = nodes.url();
    with_user.insert(with_user.find("//") + 2, "fencelock:secret@");
    redis_locks as_user{with_user};
    client others{as_user, shared_postgres().conninfo(), {.fall_back = false}};
    auto const resource = resource_of(2);
    auto lock = others.acquire(resource);
    begin_move(resource, 2, 0);
    move_key(lock_key(resource), 2, 0);
    EXPECT_TRUE(lock.renew()); // ASK
    move_key(state_key(resource), 2, 0);
    end_move(resource, 2, 0);
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(cluster_client, plain_keys_are_kept_where_their_hash_tag_says)
{
    redis_locks plain_redis{nodes.url(), {.keys = key_preset::plain}};
    client plain{plain_redis};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const name = resource_of(i);
        auto const tagged = "{" + name + "}";
        auto held = plain.acquire(tagged);
        EXPECT_EQ(held.token(), 1);
        EXPECT_FALSE(plain.try_acquire(tagged, {.wait = 10ms}));
        EXPECT_TRUE(held.renew());
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_EQ(plain.acquire(tagged).token(), 2);
        EXPECT_THROW(plain.try_acquire(name), invalid_argument);
    }
}

TEST_F(cluster_client, a_release_wakes_a_waiter_blocked_at_the_slots_node)
{
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const resource = resource_of(i);
        auto holder = locks.acquire(resource);
        std::thread waiter{[&] { EXPECT_TRUE(locks.try_acquire(resource, {.wait = 300s})); }};
        EXPECT_TRUE(wait_until([&] { return blocked_clients(nodes[i]) == 1; }));
        EXPECT_EQ(holder.release(), release_outcome::released);
        waiter.join();
    }
}

TEST_F(cluster_client, a_frozen_node_delays_no_renewal_at_another)
{
    std::vector<lock> at_frozen;
    for (int i = 0; i < 20; ++i)
        at_frozen.push_back(locks.acquire(resource_of(0), {.ttl = 15s}));
    std::vector<lock> at_another;
    for (int i = 0; i < 20; ++i)
        at_another.push_back(locks.acquire(resource_of(1), {.ttl = 15s}));
    std::vector<std::chrono::steady_clock::time_point> first_ends;
    for (auto const& one : at_another)
        first_ends.push_back(one.valid_until());
    nodes[0].pause();
    for (std::size_t i = 0; i < at_another.size(); ++i) {
        EXPECT_TRUE(wait_until([&] { return at_another[i].valid_until() > first_ends[i]; }));
        EXPECT_TRUE(at_another[i].held());
    }
    nodes[0].resume();
}

// Whatever another thread was asking for when it forked.
TEST_F(cluster_client, a_forked_child_has_a_way_of_its_own)
{
    // Another thread may hold the lock of AddressSanitizer's allocator when this one forks.
    if (!children_may_start_threads || address_sanitizer)
        GTEST_SKIP();
    std::atomic<bool> done{false};
    std::vector<std::thread> askers;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        askers.emplace_back([&, resource = resource_of(i)] {
            while (!done)
                locks.try_acquire(resource, {.ttl = 60s});
        });
    for (int i = 0; i < 20; ++i) {
        auto const resource = resource_of(0);
        auto const child = ::fork();
        if (child == 0) {
            client own{redis, shared_postgres().conninfo(), {.fall_back = false}};
            ::_exit(own.try_acquire(resource, {.wait = 60s}) ? 0 : 1);
        }
        int status = -1;
        EXPECT_TRUE(wait_until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
        EXPECT_EQ(status, 0);
        if (status == -1)
            ::kill(child, SIGKILL);
    }
    done = true;
    for (auto& asker : askers)
        asker.join();
}

TEST_F(cluster_client, a_url_of_one_server_says_what_to_do)
{
    redis_locks alone{nodes[0].url()};
    client others{alone, shared_postgres().conninfo(), {.fall_back = false}};
    try {
        others.try_acquire(resource_of(1));
        FAIL();
    } catch (configuration_error const& e) {
        EXPECT_NE(std::string{e.what()}.find("redis+cluster://"), std::string::npos) << e.what();
    }
    redis_locks no_cluster{"redis+cluster" + shared_redis().url().substr(5)};
    client strangers{no_cluster, shared_postgres().conninfo(), {.fall_back = false}};
    EXPECT_THROW(strangers.try_acquire(resource_of(0)), configuration_error);
}

} // namespace
} // namespace fencelock::test
