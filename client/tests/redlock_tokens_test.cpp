// Tokens of a Redlock rise as its grants do.
#include "grant_record.hpp"
#include "redlock_fixture.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace fencelock::test {
namespace {

using redlock_tokens = redlock_fixture;

// Grants are recorded while the lock is held, claims in the order of the database.
TEST_F(redlock_tokens, are_unique_and_rise_while_servers_forget_one_by_one)
{
    constexpr int clients = 6;
    constexpr std::size_t enough = 60;
    auto const conninfo = shared_postgres().conninfo();
    grant_record record;
    std::mutex mutex;
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i)
        threads.emplace_back([&] {
            redlock_locks own_group{urls(), {.redlock_timeout = 2s}};
            client own{own_group, conninfo, {.fall_back = false}};
            while (!done) {
                try {
                    auto held = own.try_acquire(resource, {.ttl = 10s, .wait = 120s});
                    if (!held)
                        continue;
                    std::lock_guard const guard{mutex};
                    record.granted(*held);
                    record.claimed(*held);
                    done = record.grants() >= enough;
                } catch (issuer_unavailable const&) {
                } catch (outcome_unknown const&) {
                }
            }
        });
    auto const grants = [&] {
        std::lock_guard const guard{mutex};
        return record.grants();
    };
    for (std::size_t i = 0; !done; i = (i + 1) % 3) {
        server(i).restart_empty();
        auto const before = grants();
        EXPECT_TRUE(wait_until([&] { return done || grants() > before + 2; }));
    }
    for (auto& thread : threads)
        thread.join();
    EXPECT_GE(record.grants(), enough);
    EXPECT_TRUE(nothing_is_left());
}

} // namespace
} // namespace fencelock::test
