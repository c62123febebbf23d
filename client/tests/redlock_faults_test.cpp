// Redlock with competitors, lost answers, late requests and servers that forget: what failed
// leaves nothing.
#include "redlock_fixture.hpp"

#include <future>
#include <thread>

namespace fencelock::test {
namespace {

class redlock_faults : public redlock_fixture {
  protected:
    using redlock_fixture::redlock_fixture;

    // An acquire in a thread of its own, stopped between its votes and its token.
    template <typename Meanwhile>
    std::optional<lock> acquire_and(Meanwhile meanwhile, acquire_options const& options = {})
    {
        std::optional<lock> taken;
        std::thread acquirer;
        {
            issue_blocker blocker{resource};
            acquirer = std::thread{[&] { taken = locks.try_acquire(resource, options); }};
            EXPECT_TRUE(blocker.somebody_waits());
            meanwhile();
        }
        acquirer.join();
        return taken;
    }

    // An acquire that is granted by all servers, whose answers are lost after `meanwhile`.
    template <typename Meanwhile>
    std::future<std::optional<lock>> acquire_unheard(client& through, Meanwhile meanwhile)
    {
        std::future<std::optional<lock>> taken;
        std::vector<std::uint64_t> held_before;
        for (std::size_t i = 0; i < 3; ++i)
            held_before.push_back(proxy(i).bytes_held());
        {
            issue_blocker blocker{resource};
            taken = std::async(std::launch::async, [&] { return through.try_acquire(resource); });
            EXPECT_TRUE(blocker.somebody_waits());
            for (std::size_t i = 0; i < 3; ++i)
                proxy(i).hold_replies();
        }
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_TRUE(wait_until([&] { return proxy(i).bytes_held() > held_before[i]; }));
        meanwhile();
        for (std::size_t i = 0; i < 3; ++i) {
            proxy(i).cut_all();
            proxy(i).release();
        }
        return taken;
    }

    void expect_scripts_on(std::size_t i, std::int64_t more_than)
    {
        EXPECT_TRUE(wait_until([&] { return script_calls(server(i)) > more_than; }));
    }

    redlock_locks group{urls(), {.redlock_timeout = patient}};
    client locks{group,
                 shared_postgres().conninfo(),
                 {.fall_back = false, .attempt_timeout = std::chrono::milliseconds{patient}}};

    client falling_back{group,
                        shared_postgres().conninfo(),
                        {.attempt_timeout = std::chrono::milliseconds{patient}}};

    // What it does not take back stays for a day.
    client lasting{
        group, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 24h}};

    // What was sent over a connection that broke is waited for as long as it may be executed.
    redlock_locks quick_group{urls(), {.redlock_timeout = 500ms}};
    client quick{quick_group, shared_postgres().conninfo(), {.fall_back = false}};
};

TEST_F(redlock_faults, an_attempt_that_loses_leaves_nothing_where_it_had_won)
{
    take_for_others(0);
    take_for_others(1);
    EXPECT_FALSE(lasting.try_acquire(resource, {.ttl = 24h}));
    EXPECT_TRUE(wait_until([&] { return !kept(2); }));
    EXPECT_EQ(issued(resource), 0);
}

TEST_F(redlock_faults, one_foreign_vote_is_a_minority)
{
    take_for_others(1);
    auto held = locks.acquire(resource);
    EXPECT_EQ(servers_with(held), 2);
    EXPECT_EQ(kept(1).value(), "7:abc:somebody");
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(kept(1).value(), "7:abc:somebody");
}

TEST_F(redlock_faults, split_votes_are_given_back_and_asked_for_again)
{
    server(1).command({"SET", lock_key(resource), "0:abc:competitor", "PX", "3600000"});
    server(2).command({"SET", lock_key(resource), "0:def:another", "PX", "3600000"});
    std::optional<lock> taken;
    std::thread acquirer{[&] { taken = locks.try_acquire(resource, {.wait = 300s}); }};
    EXPECT_TRUE(
        wait_until([&] { return script_calls(server(0)) >= 4; })); // taken, given back, and again
    EXPECT_FALSE(taken);
    server(2).command({"DEL", lock_key(resource)});
    acquirer.join();
    ASSERT_TRUE(taken);
    EXPECT_EQ(servers_with(*taken), 2);
}

TEST_F(redlock_faults, a_request_that_is_executed_late_leaves_nothing)
{
    lasting.acquire(resource).release(); // connected everywhere
    EXPECT_TRUE(nothing_is_left());
    take_for_others(0);
    take_for_others(1);
    auto const before = script_calls(server(2));
    proxy(2).hold_requests();
    EXPECT_FALSE(lasting.try_acquire(resource, {.ttl = 24h})); // did not wait for the third
    EXPECT_TRUE(wait_until([&] { return proxy(2).bytes_held() > 0; }));
    proxy(2).release(); // takes the lock there, within its time
    expect_scripts_on(2, before + 1);
    EXPECT_TRUE(wait_until([&] { return !kept(2); }));
}

TEST_F(redlock_faults, a_request_that_is_executed_after_its_time_takes_nothing)
{
    acquire_everywhere(quick, {.wait = 120s}).release(); // connected, and nothing on its way
    EXPECT_TRUE(nothing_is_left());
    take_for_others(0);
    auto const before = script_calls(server(2));
    auto const taken = calls_of(server(2), "set");
    proxy(1).hold_requests();
    proxy(2).hold_requests();
    EXPECT_THROW(quick.try_acquire(resource), issuer_unavailable);
    proxy(1).release();
    proxy(2).release();
    expect_scripts_on(2, before);
    EXPECT_TRUE(wait_until([&] { return !kept(1) && !kept(2); }));
    EXPECT_EQ(calls_of(server(2), "set"), taken);
}

TEST_F(redlock_faults, what_is_not_granted_lives_no_longer_than_the_attempt)
{
    auto taken = acquire_and(
        [&] {
            for (std::size_t i = 0; i < 3; ++i) {
                auto const value = kept(i);
                EXPECT_TRUE(!value || value->starts_with("0:"));
                EXPECT_LE(std::stoll(server(i).command({"PTTL", lock_key(resource)}).value()),
                          std::chrono::milliseconds{patient}.count());
            }
        },
        {.ttl = 24h});
    ASSERT_TRUE(taken);
    EXPECT_GE(servers_with(*taken), 2);
}

TEST_F(redlock_faults, a_grant_needs_the_votes_that_it_had_before_its_token)
{
    std::int64_t in_vain = 0;
    auto taken = acquire_and([&] {
        server(0).command({"DEL", lock_key(resource)});
        server(1).command({"FLUSHALL"});
        in_vain = issued(resource) + 1;
    });
    ASSERT_TRUE(taken);
    EXPECT_GT(taken->token(), in_vain); // another attempt had to be made
    EXPECT_GE(servers_with(*taken), 2);
    EXPECT_EQ(taken->release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, a_grant_that_comes_too_late_gives_way_to_the_successor)
{
    auto taken = acquire_and([&] {
        take_for_others(0); // its votes ran out, and somebody else has got the lock
        take_for_others(2);
    });
    EXPECT_FALSE(taken);
    EXPECT_TRUE(wait_until([&] { return !kept(1); }));
    EXPECT_EQ(kept(0).value(), "7:abc:somebody");
    EXPECT_EQ(kept(2).value(), "7:abc:somebody");
}

TEST_F(redlock_faults, a_lost_vote_is_asked_for_again)
{
    quick.acquire(resource, {.wait = 120s}).release();
    EXPECT_TRUE(nothing_is_left());
    for (std::size_t i = 0; i < 2; ++i)
        proxy(i).drop_next_reply(lock_key(resource));
    auto held = quick.acquire(resource, {.wait = 120s});
    EXPECT_TRUE(
        wait_until([&] { return proxy(0).replies_dropped() + proxy(1).replies_dropped() == 2; }));
    EXPECT_GE(servers_with(held), 2);
    held.confirm();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

// Only the request that grants contains a value of a lock without a token.
TEST_F(redlock_faults, a_lost_grant_is_no_grant_and_its_token_is_given_up)
{
    quick.acquire(resource, {.wait = 120s}).release();
    EXPECT_TRUE(nothing_is_left());
    auto const before = issued(resource);
    for (std::size_t i = 0; i < 2; ++i)
        proxy(i).drop_next_reply("\r\n0:");
    auto held = quick.acquire(resource, {.wait = 120s});
    EXPECT_GE(proxy(0).replies_dropped() + proxy(1).replies_dropped(), 1U);
    EXPECT_GT(held.token(), before + 1);
    held.confirm();
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, a_lost_grant_leaves_it_unknown_where_no_other_token_is_to_be_had)
{
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    client through{
        group, conninfo_through(to_postgres), {.fall_back = false, .attempt_timeout = 6s}};
    acquire_everywhere(through, {.wait = 120s}).release(); // connected, and nothing on its way
    EXPECT_TRUE(nothing_is_left());
    auto taken = acquire_unheard(through, [&] {
        to_postgres.refuse();
        to_postgres.cut_all();
    });
    EXPECT_THROW(taken.get(), outcome_unknown);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, a_lost_grant_leaves_it_unknown_where_others_have_votes_afterwards)
{
    for (auto const* vote : {"0:abc:competitor", "7:abc:somebody"}) {
        acquire_everywhere(lasting, {.wait = 120s}).release(); // connected
        EXPECT_TRUE(nothing_is_left());
        auto taken = acquire_unheard(falling_back, [&] {
            for (std::size_t i = 0; i < 3; ++i)
                take_for_others(i, vote);
        });
        EXPECT_THROW(taken.get(), outcome_unknown); // and PostgreSQL leaves it to the others
        EXPECT_EQ(falling_back.counters().fallbacks, 0U);
        for (std::size_t i = 0; i < 3; ++i)
            server(i).command({"DEL", lock_key(resource)});
    }
}

TEST_F(redlock_faults, one_lost_grant_is_undone_and_leaves_a_lease_of_the_others)
{
    quick.acquire(resource, {.wait = 120s}).release();
    EXPECT_TRUE(nothing_is_left());
    proxy(1).drop_next_reply("\r\n0:");
    auto held = quick.acquire(resource, {.ttl = 1h, .wait = 120s});
    while (proxy(1).replies_dropped() == 0) { // it was slow to vote, and not asked
        held.release();
        held = quick.acquire(resource, {.ttl = 1h, .wait = 120s});
    }
    EXPECT_TRUE(wait_until([&] { return !kept(1); }));
    EXPECT_EQ(servers_with(held), 2);
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, lost_answers_to_a_renewal_are_asked_for_again)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    EXPECT_TRUE(held.renew()); // the servers know the script
    for (std::size_t i = 0; i < 2; ++i)
        proxy(i).drop_next_reply(lock_key(resource));
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(proxy(0).replies_dropped() + proxy(1).replies_dropped(), 2U);
    EXPECT_EQ(servers_with(held), 3);
}

TEST_F(redlock_faults, a_renewal_that_was_not_answered_is_remembered_when_later_ones_cannot_be_sent)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    for (std::size_t const i : {0, 1})
        proxy(i).hold_requests();
    auto renewal = std::async(std::launch::async, [&] { return held.renew(); });
    for (std::size_t const i : {0, 1})
        EXPECT_TRUE(wait_until([&] { return proxy(i).bytes_held() > 0; }));
    for (std::size_t const i : {0, 1}) { // what is held may arrive yet; nothing else can
        proxy(i).refuse();
        proxy(i).cut_all();
    }
    EXPECT_THROW(renewal.get(), outcome_unknown);
    EXPECT_TRUE(held.held());
    for (std::size_t const i : {0, 1}) {
        proxy(i).release();
        proxy(i).accept_again();
    }
}

TEST_F(redlock_faults, a_release_that_a_server_did_not_answer_reaches_it_all_the_same)
{
    auto held = locks.acquire(resource, {.ttl = 24h});
    server(1).pause();
    EXPECT_EQ(held.release(), release_outcome::released);
    server(1).resume();
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, a_release_that_was_not_answered_needs_no_script_that_is_known)
{
    auto held = locks.acquire(resource, {.ttl = 24h});
    server(1).command({"SCRIPT", "FLUSH"});
    proxy(1).hold_requests(); // what is sent is executed once the client has given up
    EXPECT_EQ(held.release(), release_outcome::released);
    proxy(1).release();
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, a_released_lock_is_not_granted_by_a_request_that_was_on_its_way)
{
    locks.acquire(resource).release();
    EXPECT_TRUE(nothing_is_left());
    auto held = acquire_and([&] { proxy(2).hold_requests(); }, {.ttl = 24h});
    ASSERT_TRUE(held);
    EXPECT_EQ(servers_with(*held), 2);
    EXPECT_EQ(held->release(), release_outcome::released);
    auto const before = script_calls(server(2));
    proxy(2).release();
    expect_scripts_on(2, before + 1);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(redlock_faults, what_an_earlier_attempt_left_behind_is_in_nobodys_way)
{
    for (std::size_t i = 0; i < 2; ++i)
        take_for_others(i, "0:abc:worker 7"); // its client died
    EXPECT_FALSE(locks.try_acquire(resource, {.owner = "worker 8"}));
    auto held = locks.acquire(resource, {.owner = "worker 7"});
    EXPECT_GE(servers_with(held), 2);
}

class redlock_persistent : public redlock_faults {
  protected:
    redlock_persistent() : redlock_faults{{.persistent = true}} {}
};

// What a server has read from its disk may be older than what it had forgotten.
TEST_F(redlock_persistent, a_vote_from_before_a_restart_does_not_count)
{
    std::int64_t in_vain = 0;
    auto taken = acquire_and([&] {
        for (std::size_t i = 0; i < 2; ++i) {
            auto const before = kept(i);
            server(i).restart();
            EXPECT_EQ(kept(i), before);
        }
        in_vain = issued(resource) + 1;
    });
    ASSERT_TRUE(taken);
    EXPECT_GT(taken->token(), in_vain);
}

TEST_F(redlock_persistent, a_lease_goes_on_through_restarts_that_keep_it)
{
    auto held = acquire_everywhere(locks, {.ttl = 1h, .renew = false});
    for (std::size_t i = 0; i < 3; ++i)
        server(i).restart();
    EXPECT_TRUE(held.renew());
    EXPECT_EQ(servers_with(held), 3);
}

} // namespace
} // namespace fencelock::test
