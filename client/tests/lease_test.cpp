// Renewal, loss and release.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "memory_issuer.hpp"

namespace fencelock::test {
namespace {

using clock = std::chrono::steady_clock;

class leases : public ::testing::Test {
  protected:
    // What is not meant to fail may take as long as a busy machine needs.
    client_options const patient{.fall_back = false, .attempt_timeout = 30s};

    test_support::tcp_proxy proxy{shared_redis().socket_path()};
    redis_locks redis{proxy.url()};
    client locks{redis, shared_postgres().conninfo(), patient};
    redis_locks direct_redis{shared_redis().socket_url()};
    client others{direct_redis, shared_postgres().conninfo(), patient};
    std::string resource = new_resource();
};

TEST_F(leases, are_renewed_in_the_background)
{
    auto lock = locks.acquire(resource, {.ttl = 9s});
    auto const first_end = lock.valid_until();
    EXPECT_TRUE(wait_until([&] { return lock.valid_until() > first_end; }));
    EXPECT_TRUE(lock.held());
    EXPECT_FALSE(others.try_acquire(resource));
}

TEST_F(leases, go_on_through_a_passing_failure)
{
    auto lock = locks.acquire(resource, {.ttl = 15s});
    auto const first_end = lock.valid_until();
    proxy.refuse();
    proxy.cut_all();
    // Renewal is due after a third; the first tries fail.
    EXPECT_TRUE(wait_until([&] { return clock::now() > first_end - 9s; }));
    EXPECT_TRUE(lock.held());
    proxy.accept_again();
    EXPECT_TRUE(wait_until([&] { return lock.valid_until() > first_end; }));
    EXPECT_TRUE(lock.held());
    EXPECT_FALSE(lock.stop_token().stop_requested());
}

TEST_F(leases, are_lost_for_good_when_no_renewal_comes_through)
{
    std::atomic<int> losses{0};
    std::int64_t lost_token = 0;
    std::string lost_resource;
    auto lock = locks.acquire(resource, {.ttl = 600ms, .on_lost = [&](lock_lost const& loss) {
                                             lost_token = loss.token();
                                             lost_resource = loss.resource();
                                             ++losses;
                                         }});
    proxy.refuse();
    proxy.cut_all();
    EXPECT_TRUE(wait_until([&] { return losses == 1; }));
    EXPECT_GE(clock::now(), lock.valid_until());
    EXPECT_EQ(lost_token, lock.token());
    EXPECT_EQ(lost_resource, resource);
    EXPECT_TRUE(lock.stop_token().stop_requested());
    EXPECT_FALSE(lock.held());
    proxy.accept_again();
    EXPECT_FALSE(lock.renew());
    EXPECT_THROW(lock.transaction([](pqxx::work&) {}), lock_lost);
    EXPECT_EQ(losses, 1);
}

TEST_F(leases, are_lost_on_time_while_another_leases_renewal_hangs)
{
    auto slow = locks.acquire(new_resource(), {.ttl = 3s});
    std::atomic<bool> lost{false};
    auto brief =
        locks.acquire(resource, {.ttl = 1100ms, .on_lost = [&](lock_lost const&) { lost = true; }});
    proxy.hold_replies();
    EXPECT_TRUE(wait_until([&] { return lost.load(); }));
    EXPECT_TRUE(slow.held() || clock::now() >= slow.valid_until());
    proxy.release();
}

TEST_F(leases, without_renewal_end_with_their_ttl)
{
    std::atomic<bool> lost{false};
    auto lock = locks.acquire(
        resource, {.ttl = 50ms, .renew = false, .on_lost = [&](lock_lost const&) { lost = true; }});
    EXPECT_TRUE(wait_until([&] { return lost.load(); }));
    EXPECT_FALSE(lock.held());
    auto next = others.acquire(resource, {.wait = 120s});
    EXPECT_GT(next.token(), lock.token());
    EXPECT_EQ(lock.release(), release_outcome::not_held);
    EXPECT_TRUE(shared_redis().command({"GET", lock_key(resource)}));
}

// Grants answered only when the TTL is over.
class slow_issuer : public memory_issuer {
  public:
    std::optional<grant> try_acquire(lease_request const& request) override
    {
        auto granted = memory_issuer::try_acquire(request);
        granted->counted_from -= request.ttl;
        return granted;
    }
};

TEST_F(leases, that_are_over_before_they_are_handed_over_are_lost_and_released)
{
    auto const slow = std::make_shared<slow_issuer>();
    client through{slow, shared_postgres().conninfo()};
    EXPECT_THROW(through.acquire(resource, {.ttl = 1h}), lock_lost);
    EXPECT_TRUE(slow->is_released(1));
    EXPECT_THROW(through.try_acquire(resource, {.ttl = 1h}), lock_lost);
    EXPECT_TRUE(slow->is_released(2));
}

TEST_F(leases, renewal_never_revives_what_somebody_ended)
{
    std::atomic<bool> lost{false};
    auto lock =
        locks.acquire(resource, {.ttl = 500ms, .on_lost = [&](lock_lost const&) { lost = true; }});
    shared_redis().command({"DEL", lock_key(resource)});
    EXPECT_TRUE(wait_until([&] { return lost.load(); }));
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    EXPECT_FALSE(lock.renew());
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

TEST_F(leases, a_former_holder_neither_renews_nor_releases_its_successors)
{
    auto former = locks.acquire(resource, {.ttl = 1h});
    shared_redis().command({"DEL", lock_key(resource)});
    auto current = others.acquire(resource, {.ttl = 1h});
    auto const held = shared_redis().command({"GET", lock_key(resource)});
    EXPECT_EQ(former.release(), release_outcome::not_held);
    EXPECT_EQ(shared_redis().command({"GET", lock_key(resource)}), held);
    EXPECT_TRUE(current.renew());
}

TEST_F(leases, an_explicit_renewal_extends_the_lease)
{
    auto lock = locks.acquire(resource, {.ttl = 1h, .renew = false});
    auto const first_end = lock.valid_until();
    shared_redis().command({"PEXPIRE", lock_key(resource), "1000000"});
    EXPECT_TRUE(lock.renew());
    EXPECT_GT(lock.valid_until(), first_end);
    EXPECT_GT(std::stoll(*shared_redis().command({"PTTL", lock_key(resource)})), 1'000'000);
}

TEST_F(leases, that_were_given_away_are_told_as_such)
{
    auto lock = locks.acquire(resource);
    auto const held = lock.detach();
    EXPECT_FALSE(lock.held());
    try {
        lock.confirm();
        FAIL();
    } catch (lock_lost const& e) {
        EXPECT_NE(std::string_view{e.what()}.find("detach()"), std::string_view::npos);
    }
    EXPECT_TRUE(locks.release(held));
}

TEST_F(leases, a_release_whose_answer_is_lost_is_asked_again)
{
    locks.acquire(new_resource()).release(); // the server knows the scripts
    auto lock = locks.acquire(resource);
    proxy.drop_next_reply(lock_key(resource));
    // It was the first request that ended it; the second cannot know.
    EXPECT_EQ(lock.release(), release_outcome::unknown);
    EXPECT_EQ(proxy.replies_dropped(), 1U);
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    EXPECT_EQ(lock.release(), release_outcome::not_held);
}

TEST_F(leases, a_failing_repeat_does_not_end_what_its_owner_has)
{
    auto lock = locks.acquire(resource, {.ttl = 1h, .owner = "worker 7"});
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 300ms}};
    impatient.acquire(new_resource(), {.wait = 120s}).release(); // connected by now
    proxy.hold_replies();
    EXPECT_THROW(impatient.try_acquire(resource, {.ttl = 1h, .owner = "worker 7"}), error);
    proxy.release();
    EXPECT_TRUE(lock.renew());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(leases, a_lost_renewal_does_not_end_what_its_owner_has_by_another_acquire)
{
    auto const same_owner = [](std::chrono::milliseconds ttl) {
        return acquire_options{.ttl = ttl, .wait = 120s, .renew = false, .owner = "worker 7"};
    };
    std::optional<lock> lost = locks.acquire(resource, same_owner(2s));
    proxy.hold_replies();
    auto renewal = std::async(std::launch::async, [&] { return lost->renew(); });
    EXPECT_TRUE(wait_until([&] { return proxy.bytes_held() > 0 || !lost->held(); }));
    auto again = others.acquire(resource, same_owner(1h));
    EXPECT_TRUE(wait_until([&] { return !lost->held(); }));
    proxy.release(); // whatever it asks for next is answered
    try {
        EXPECT_FALSE(renewal.get());
    } catch (error const&) { // it heard nothing until then
    }
    lost.reset();
    EXPECT_FALSE(others.try_acquire(resource));
    EXPECT_EQ(again.release(), release_outcome::released);
}

TEST_F(leases, a_release_without_an_answer_can_be_tried_again)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 3s}};
    auto lock = impatient.acquire(resource, {.ttl = 1h, .wait = 120s});
    proxy.refuse();
    proxy.cut_all();
    EXPECT_EQ(lock.release(), release_outcome::unknown);
    EXPECT_FALSE(lock.held());
    proxy.accept_again();
    EXPECT_EQ(lock.release(), release_outcome::released);
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

TEST_F(leases, the_destructor_does_not_throw_where_nobody_answers)
{
    client impatient{
        redis, shared_postgres().conninfo(), {.fall_back = false, .attempt_timeout = 200ms}};
    {
        auto lock = impatient.acquire(resource, {.wait = 120s});
        proxy.hold_replies();
    }
    proxy.release();
    static_assert(std::is_nothrow_destructible_v<lock>);
    static_assert(std::is_nothrow_move_constructible_v<lock>);
}

TEST_F(leases, a_release_wakes_one_waiter)
{
    auto lock = locks.acquire(resource);
    lock.release();
    auto const wake = "fencelock:v1:{" + resource + "}:wake";
    EXPECT_EQ(shared_redis().command({"LLEN", wake}).value(), "1");
    EXPECT_GT(std::stoll(*shared_redis().command({"PTTL", wake})), 0);
    auto again = locks.acquire(resource);
    again.release();
    EXPECT_LE(std::stoll(*shared_redis().command({"LLEN", wake})), 1);
}

TEST_F(leases, handles_outlive_their_client)
{
    std::optional<client> brief{std::in_place, redis, shared_postgres().conninfo()};
    auto lock = brief->acquire(resource, {.ttl = 9s});
    auto const first_end = lock.valid_until();
    brief.reset();
    EXPECT_TRUE(wait_until([&] { return lock.valid_until() > first_end; }));
    EXPECT_EQ(lock.transaction([](pqxx::work&) { return 3; }), 3);
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(leases, may_be_used_by_several_threads)
{
    auto lock = locks.acquire(resource, {.ttl = 60s});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                EXPECT_TRUE(lock.held());
                EXPECT_TRUE(lock.renew());
                lock.transaction([](pqxx::work& tx) { tx.exec("SELECT 1"); });
                EXPECT_GT(lock.valid_until(), clock::now());
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(lock.release(), release_outcome::released);
}

} // namespace
} // namespace fencelock::test
