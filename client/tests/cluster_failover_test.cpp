// Three primaries with a replica each: one primary dies or is frozen while locks of its slots are
// held, its replica takes its place, and the old one comes back.
#include "cluster_fixture.hpp"

#include <array>
#include <optional>

#include "grant_record.hpp"

namespace fencelock::test {
namespace {

class cluster_failover : public cluster_fixture {
  protected:
    static constexpr std::size_t fated = 0; // the primary that is lost
    static constexpr std::size_t heir = 3;  // its replica

    cluster_failover() : cluster_fixture{3, 1, 1500ms}
    {
        held_name = resource_of(fated);
        busy_name = resource_of(fated);
        elsewhere = resource_of(1);
    }

    // A lock for an hour that the replica knows of as well.
    lock hold()
    {
        auto held = locks.acquire(held_name, {.ttl = 1h, .wait = 60s, .renew = false});
        held_record.granted(held);
        EXPECT_TRUE(held_record.claimed(held));
        auto const slot = std::to_string(nodes.slot_of(lock_key(held_name)));
        wait_for([&] {
            return nodes[heir].command({"CLUSTER", "COUNTKEYSINSLOT", slot}) ==
                   nodes[fated].command({"CLUSTER", "COUNTKEYSINSLOT", slot});
        });
        return held;
    }

    // Every call gets through or says that no server could serve it, or that nobody knows whether
    // one did; and it comes back by itself. True where it got through.
    template <typename Call>
    static bool gets_through(Call call)
    {
        auto const since = std::chrono::steady_clock::now();
        bool done = false;
        try {
            done = call();
        } catch (issuer_unavailable const&) {
        } catch (outcome_unknown const&) {
        }
        EXPECT_LT(std::chrono::steady_clock::now() - since, test_support::generous_limit);
        return done;
    }

    // A whole life of a lock.
    static bool take(client& from, std::string const& resource, grant_record& record)
    {
        return gets_through([&] {
            auto lock = from.try_acquire(resource);
            if (!lock)
                return false; // an earlier one, whose release was lost with its server
            record.granted(*lock);
            auto const accepted = record.claimed(*lock);
            lock->release();
            return accepted;
        });
    }

    // All that a client does, once. The held lock is never given to another.
    void use(lock& held)
    {
        gets_through([&] { return held.renew(); });
        EXPECT_TRUE(held.held());
        EXPECT_FALSE(gets_through([&] { return locks.try_acquire(held_name).has_value(); }));
        take(locks, busy_name, busy_record);
        take(locks, elsewhere, elsewhere_record);
    }

    void use_until(lock& held, std::function<bool()> const& condition)
    {
        wait_for([&] {
            use(held);
            return condition();
        });
    }

    // Through the heir, after the old primary was lost.
    void everything_goes_on(lock& held)
    {
        wait_for([&] { return gets_through([&] { return held.renew(); }); });
        EXPECT_TRUE(held_record.claimed(held));
        for (auto const& [name, record] :
             {std::pair{busy_name, &busy_record}, std::pair{elsewhere, &elsewhere_record}})
            wait_for([&, &name = name, record = record] { return take(locks, name, *record); });
    }

    void release_and_take_again(lock& held)
    {
        wait_for([&] { return held.release() != release_outcome::unknown; });
        wait_for([&] { return take(locks, held_name, held_record); });
        EXPECT_GT(held_record.highest_claim(), held.token());
    }

    redis_locks redis{nodes.url(1), {.command_timeout = 500ms}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string held_name;
    std::string busy_name;
    std::string elsewhere;
    grant_record held_record;
    grant_record busy_record;
    grant_record elsewhere_record;
};

TEST_F(cluster_failover, a_primary_that_died_is_replaced_under_a_held_lock)
{
    auto held = hold();
    nodes[fated].kill9();
    use_until(held, [&] { return nodes.is_primary(heir); });
    everything_goes_on(held);

    nodes[fated].start(); // without memory, and with its old view of the cluster
    use_until(held, [&] { return !nodes.is_primary(fated); });
    everything_goes_on(held);
    release_and_take_again(held);
    EXPECT_GE(busy_record.grants(), 2U);
    EXPECT_GE(elsewhere_record.grants(), 2U);
}

// Its connections stay open, and until it hears of its heir it takes itself for the primary.
TEST_F(cluster_failover, a_primary_that_was_frozen_comes_back_without_granting_a_token_again)
{
    auto held = hold();
    redis_locks through_the_old_one{nodes.url(fated), {.command_timeout = 500ms}};
    client misled{through_the_old_one, shared_postgres().conninfo(), {.fall_back = false}};
    wait_for([&] { return take(misled, busy_name, busy_record); });
    nodes[fated].pause();
    use_until(held, [&] { return nodes.is_primary(heir); });
    everything_goes_on(held);

    nodes[fated].resume();
    use_until(held, [&] {
        take(misled, busy_name, busy_record);
        EXPECT_FALSE(gets_through([&] { return misled.try_acquire(held_name).has_value(); }));
        return nodes[fated].running() && !nodes.is_primary(fated);
    });
    everything_goes_on(held);
    wait_for([&] { return take(misled, busy_name, busy_record); });
    release_and_take_again(held);
}

} // namespace
} // namespace fencelock::test
