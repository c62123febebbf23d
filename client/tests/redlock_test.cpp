// Redlock with servers that answer, are away, or are frozen.
#include "redlock_fixture.hpp"

#include <thread>

namespace fencelock::test {
namespace {

class redlock : public redlock_fixture {
  protected:
    redlock_locks group{urls(), {.redlock_timeout = patient}};
    client locks{group, shared_postgres().conninfo(), {.fall_back = false}};
};

TEST_F(redlock, a_lock_is_on_every_server_until_it_is_released)
{
    auto held = acquire_everywhere(locks);
    EXPECT_EQ(held.issuer_name(), "redlock");
    EXPECT_EQ(held.token(), issued(resource));
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(held.transaction([](pqxx::work&) { return 1; }), 1);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, the_ttl_is_on_every_server_and_counts_from_the_grant)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    EXPECT_GT(held.valid_until(), std::chrono::steady_clock::now() + 50min);
    for (std::size_t i = 0; i < 3; ++i) {
        auto const left = std::stoll(server(i).command({"PTTL", lock_key(resource)}).value());
        EXPECT_GT(left, 50 * 60 * 1000);
        EXPECT_LE(left, 60 * 60 * 1000);
    }
}

TEST_F(redlock, others_do_not_get_what_is_held)
{
    auto held = acquire_everywhere(locks);
    auto const before = issued(resource);
    EXPECT_FALSE(locks.try_acquire(resource));
    EXPECT_THROW(locks.acquire(resource, {.wait = 20ms}), lock_timeout);
    EXPECT_EQ(issued(resource), before); // no token for those who lose
    EXPECT_EQ(servers_with(held), 3);
    EXPECT_EQ(held.release(), release_outcome::released);
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), held.token());
}

TEST_F(redlock, the_same_owner_gets_the_same_lease_again)
{
    auto first = acquire_everywhere(locks, {.owner = "worker 7"});
    auto second = locks.acquire(resource, {.owner = "worker 7"});
    EXPECT_EQ(second.token(), first.token());
    EXPECT_GE(servers_with(second), 2);
    EXPECT_TRUE(first.renew());
    EXPECT_EQ(second.release(), release_outcome::released);
    EXPECT_EQ(first.release(), release_outcome::not_held);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, an_owner_whose_lease_a_majority_has_lost_gets_a_higher_token)
{
    auto first = acquire_everywhere(locks, {.owner = "worker 7"});
    server(0).command({"DEL", lock_key(resource)});
    server(1).command({"DEL", lock_key(resource)});
    auto second = locks.acquire(resource, {.owner = "worker 7"});
    EXPECT_GT(second.token(), first.token());
    EXPECT_GE(servers_with(second), 2);
    EXPECT_FALSE(first.renew());
    EXPECT_GE(servers_with(second), 2);
}

TEST_F(redlock, one_server_away_is_not_missed)
{
    server(1).kill9();
    auto held = locks.acquire(resource);
    EXPECT_EQ(servers_with(held), 2);
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, one_frozen_server_is_not_waited_for)
{
    redlock_locks for_ever{urls(), {.redlock_timeout = 1h}};
    client frozen{for_ever, shared_postgres().conninfo(), {.attempt_timeout = 1h}};
    frozen.acquire(resource).release(); // connected everywhere
    EXPECT_TRUE(nothing_is_left());
    server(2).pause();
    auto held = frozen.acquire(resource, {.ttl = 24h});
    EXPECT_EQ(held.issuer_name(), "redlock");
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(held.release(), release_outcome::released);
    server(2).resume();
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, a_majority_away_is_told_at_once)
{
    server(0).kill9();
    server(2).kill9();
    try {
        locks.try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_EQ(e.resource(), resource);
        EXPECT_NE(std::string{e.what()}.find(std::to_string(proxy(0).port())), std::string::npos);
        EXPECT_NE(std::string{e.what()}.find(std::to_string(proxy(2).port())), std::string::npos);
    }
    EXPECT_EQ(issued(resource), 0);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, a_majority_that_is_frozen_is_given_up_at_the_deadline)
{
    redlock_locks for_ever{urls(), {.redlock_timeout = 1h}};
    client impatient{
        for_ever, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 300ms}};
    server(0).pause();
    server(1).pause();
    EXPECT_THROW(impatient.try_acquire(resource, {.ttl = 24h}), issuer_unavailable);
    server(0).resume();
    server(1).resume();
    EXPECT_TRUE(nothing_is_left());
    EXPECT_TRUE(impatient.try_acquire(resource, {.wait = 120s}));
}

TEST_F(redlock, leases_come_from_postgresql_while_a_majority_is_away)
{
    client falling_back{group, shared_postgres().conninfo()};
    std::int64_t token = 0;
    for (int i = 0; i < 2; ++i) {
        for (bool const away : {false, true}) {
            for (std::size_t const s : {0, 1})
                away ? server(s).kill9() : server(s).start();
            auto held = falling_back.acquire(resource, {.wait = 120s, .confirm = true});
            EXPECT_EQ(held.issuer_name(), away ? "database" : "redlock");
            EXPECT_GT(held.token(), token);
            token = held.token();
            EXPECT_EQ(held.release(), release_outcome::released);
        }
    }
}

TEST_F(redlock, a_lock_that_others_hold_is_no_reason_to_fall_back)
{
    client falling_back{group, shared_postgres().conninfo()};
    take_for_others(0);
    take_for_others(1);
    EXPECT_FALSE(falling_back.try_acquire(resource));
    EXPECT_EQ(issued(resource), 0);
}

TEST_F(redlock, a_lease_goes_on_without_a_minority_and_is_lost_with_a_majority)
{
    std::atomic<int> losses{0};
    auto held =
        acquire_everywhere(locks, {.ttl = 3s, .on_lost = [&](lock_lost const&) { ++losses; }});
    server(0).restart_empty();
    EXPECT_TRUE(held.renew());
    EXPECT_TRUE(held.renew());
    EXPECT_FALSE(kept(0)); // it never comes back to where it was lost
    server(1).restart_empty();
    EXPECT_TRUE(wait_until([&] { return losses == 1; })); // by the renewal in the background
    EXPECT_FALSE(held.renew());
    EXPECT_FALSE(kept(0));
    EXPECT_FALSE(kept(1));
}

TEST_F(redlock, a_renewal_of_what_a_minority_keeps_leaves_nothing_there)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    for (std::size_t i : {0, 1})
        server(i).command({"FLUSHALL"});
    EXPECT_FALSE(held.renew());
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, a_renewal_that_too_few_answer_is_no_loss)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    proxy(0).refuse();
    proxy(0).cut_all();
    proxy(1).refuse();
    proxy(1).cut_all();
    EXPECT_THROW(held.renew(), issuer_unavailable);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(held.release(), release_outcome::unknown);
    proxy(0).accept_again();
    proxy(1).accept_again();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock, a_release_needs_no_minority)
{
    auto held = locks.acquire(resource, {.ttl = 1h});
    server(0).kill9();
    EXPECT_EQ(held.release(), release_outcome::released);
    auto next = locks.acquire(resource);
    EXPECT_EQ(servers_with(next), 2);
}

TEST_F(redlock, a_refused_token_is_released_everywhere_and_the_next_one_is_above)
{
    auto held = locks.acquire(resource);
    auto const newer =
        std::stoll(shared_postgres()
                       .query("SELECT \"Fence it\".fence_issue('" + resource + "', 500)")
                       .value());
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource + "', " +
                            std::to_string(newer + 400) + ")");
    EXPECT_THROW(held.transaction([](pqxx::work&) {}), stale_token);
    EXPECT_TRUE(nothing_is_left());
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), newer + 400);
    next.transaction([](pqxx::work&) {});
}

TEST_F(redlock, a_server_given_twice_none_or_of_another_kind_is_refused)
{
    auto twice = urls();
    twice.push_back(twice.front() + "/3");
    EXPECT_THROW(redlock_locks{twice}, invalid_argument);
    EXPECT_THROW(redlock_locks{std::vector<std::string>{}}, invalid_argument);
    EXPECT_THROW((redlock_locks{{"redis://a", "nonsense"}}), invalid_argument);
    EXPECT_THROW((redlock_locks{{"redis://a", "redis+sentinel://b/mine"}}), invalid_argument);
    EXPECT_THROW((redlock_locks{{"redis+cluster://a", "redis://b"}}), invalid_argument);
    EXPECT_THROW((redlock_locks{urls(), {.redlock_timeout = 0ms}}), invalid_argument);
    EXPECT_THROW((redlock_locks{urls(), {.keys = key_preset::plain}}), invalid_argument);
}

TEST_F(redlock, sockets_and_even_numbers_will_do)
{
    redlock_locks pair{{server(0).socket_url(), server(1).url()}, {.redlock_timeout = patient}};
    client of_two{pair, shared_postgres().conninfo(), {.fall_back = false}};
    auto held = of_two.acquire(resource);
    EXPECT_EQ(servers_with(held), 2);
    held.release();
    server(0).kill9();
    EXPECT_THROW(of_two.try_acquire(resource), issuer_unavailable); // two of two are needed

    redlock_locks single{{server(1).url()}, {.redlock_timeout = patient}};
    client of_one{single, shared_postgres().conninfo(), {.fall_back = false}};
    EXPECT_TRUE(of_one.try_acquire(resource));
}

TEST_F(redlock, a_wrong_password_on_a_majority_is_told_as_such)
{
    for (std::size_t i = 0; i < 2; ++i)
        server(i).command({"ACL", "SETUSER", "default", "-set"});
    EXPECT_THROW(locks.try_acquire(resource), configuration_error);
    server(0).command({"ACL", "SETUSER", "default", "+set"});
    EXPECT_TRUE(locks.try_acquire(resource)); // one of three is a minority
}

} // namespace
} // namespace fencelock::test
