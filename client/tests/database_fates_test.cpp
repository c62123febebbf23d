// What can become of the database, and of reservations that come too late: tokens stay unique and
// never fall below a claimed one.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "grant_record.hpp"

namespace fencelock::test {
namespace {

namespace fs = std::filesystem;

class database_fates : public ::testing::Test {
  protected:
    std::string resource = new_resource();
};

class restored_database : public database_fates {
  protected:
    restored_database() { install_extension(server); }

    void back_up()
    {
        server.stop();
        fs::copy(server.data_directory(), kept_.path() / "data", copies);
        server.start();
    }

    // Leaves the server where it was when it was backed up, in a history of its own.
    void restore()
    {
        server.stop();
        auto const data = server.data_directory();
        auto const owner = [&](char const* of) { // whose files these have to stay
            EXPECT_EQ(std::system(("chown -R --reference='" + data.string() + "' '" +
                                   (data.parent_path() / of).string() + "'")
                                      .c_str()),
                      0);
        };
        fs::copy(kept_.path() / "data", data.parent_path() / "restored", copies);
        owner("restored");
        fs::remove_all(data);
        fs::rename(data.parent_path() / "restored", data);
        fs::permissions(data, fs::perms::owner_all);
        server.set("restore_command=false");
        std::ofstream{data / "recovery.signal"};
        owner(data.filename().c_str());
        server.start();
        EXPECT_TRUE(wait_until([&] { return server.query("SELECT pg_is_in_recovery()") == "f"; }));
    }

    test_support::postgres_server server;
    test_support::redis_server redis_server;
    redis_locks redis{redis_server.url(), {.block_size = 5}};
    client locks{redis, server.conninfo(), {.fall_back = false}};

  private:
    static constexpr auto copies = fs::copy_options::recursive | fs::copy_options::copy_symlinks;

    test_support::temporary_directory kept_{"fencelock-backup"};
};

// Redis goes on with tokens of a block that the restored database knows nothing of.
TEST_F(restored_database, leads_to_no_token_that_was_granted_after_its_backup)
{
    locks.acquire(resource).confirm();
    back_up();
    std::set<std::int64_t> lost; // granted after the backup
    std::int64_t token = 0;
    for (int i = 0; i < 7; ++i) { // into the second block
        auto lock = locks.acquire(resource, {.wait = 120s});
        lost.insert(lock.token());
        lock.confirm();
        token = lock.token();
    }
    restore();

    // A client that was there before, and one that comes new.
    client newcomer{redis, server.conninfo(), {.fall_back = false}};
    for (auto* one : {&locks, &newcomer}) {
        auto lock = one->acquire(resource, {.wait = 120s, .confirm = true});
        EXPECT_FALSE(lost.contains(lock.token())) << lock.token();
        EXPECT_GT(lock.token(), token);
        EXPECT_EQ(mark_of(server, resource), lock.token());
        token = lock.token();
    }
}

// Tokens of a block that nobody confirmed, beyond what the restored database had issued.
TEST_F(restored_database, refuses_a_token_of_its_lost_history)
{
    locks.acquire(resource).confirm();
    back_up();
    for (int i = 0; i < 5; ++i)
        locks.acquire(resource, {.wait = 120s}).release();
    auto stalled = locks.acquire(resource, {.ttl = 1h});
    restore();

    EXPECT_THROW(stalled.confirm(), token_not_issued);
    EXPECT_FALSE(stalled.held());
    auto next = locks.acquire(resource, {.wait = 120s, .confirm = true});
    EXPECT_GT(next.token(), stalled.token());
}

// That it refuses a repeat says nothing of the request that it did not answer.
TEST_F(database_fates, refusing_connections_leaves_the_outcome_of_what_was_asked_before_unknown)
{
    shared_postgres().create_database("closing");
    shared_postgres().query("CREATE EXTENSION fencelock", "closing");
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    auto const* const conninfo = "host=127.0.0.1 user=postgres dbname=closing port=";
    client locks{conninfo + std::to_string(to_postgres.port())};
    auto const held = locks.acquire(resource, {.ttl = 1h}).detach();
    to_postgres.hold_replies();
    auto released = std::async(std::launch::async, [&] { return locks.release(held); });
    ASSERT_TRUE(wait_until([&] { return to_postgres.bytes_held() > 0; }));
    shared_postgres().query("ALTER DATABASE closing ALLOW_CONNECTIONS false");
    to_postgres.cut_all();
    to_postgres.release();
    EXPECT_THROW(released.get(), outcome_unknown);
    EXPECT_THROW(locks.release(held), configuration_error); // nothing was asked before
}

// The database answers a reservation so late that Redis has forgotten who asked for it.
class late_seeds : public database_fates {
  protected:
    void seed_late(std::function<void()> const& in_between)
    {
        record.granted(prompt.acquire(resource));
        slow.acquire(new_resource()).release();       // connected by now
        server.command({"DEL", state_key(resource)}); // the next one has to reserve
        to_postgres.hold_replies();
        auto late = std::async(std::launch::async, [&] {
            auto lock = slow.acquire(resource, {.ttl = 1h, .wait = 120s});
            auto const token = lock.token();
            record_of(lock);
            return token;
        });
        ASSERT_TRUE(wait_until([&] { return to_postgres.bytes_held() > 0; }));
        in_between();
        std::int64_t highest = 0;
        for (int i = 0; i < 3; ++i) {
            auto lock = prompt.acquire(resource, {.wait = 120s});
            record_of(lock);
            lock.confirm();
            highest = lock.token();
        }
        to_postgres.release();
        EXPECT_GT(late.get(), highest);
    }

    void record_of(lock const& what)
    {
        std::lock_guard const guard{mutex};
        record.granted(what);
    }

    test_support::redis_server server{{.persistent = true}};
    test_support::tcp_proxy to_postgres{"127.0.0.1", shared_postgres().port()};
    redis_locks redis{server.url()};
    client prompt{redis, shared_postgres().conninfo(), {.fall_back = false}};
    client slow{
        redis, conninfo_through(to_postgres), {.fall_back = false, .attempt_timeout = 120s}};
    std::mutex mutex;
    grant_record record;
};

TEST_F(late_seeds, after_the_state_was_lost_again)
{
    seed_late([&] { server.command({"FLUSHALL"}); });
}

TEST_F(late_seeds, after_the_lineage_changed)
{
    seed_late([&] { server.restart(); });
}

TEST_F(late_seeds, after_others_have_seeded)
{
    seed_late([] {});
}

TEST_F(database_fates, a_block_is_used_up_under_contention)
{
    redis_locks redis{shared_redis().socket_url(), {.block_size = 3}};
    auto const conninfo = shared_postgres().conninfo();
    std::mutex mutex;
    std::vector<std::int64_t> granted; // in the order of the grants
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&] {
            client locks{redis, conninfo, {.fall_back = false}};
            for (int round = 0; round < 10; ++round) {
                auto lock = locks.acquire(resource, {.ttl = 1h, .wait = 120s});
                std::lock_guard const guard{mutex};
                granted.push_back(lock.token());
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(granted.size(), 60U);
    EXPECT_TRUE(std::is_sorted(granted.begin(), granted.end()));
    EXPECT_EQ(std::set(granted.begin(), granted.end()).size(), granted.size());
}

TEST_F(database_fates, the_last_tokens_are_exact_and_beyond_them_nothing_is_locked)
{
    redis_locks redis{shared_redis().socket_url(), {.block_size = 1}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::int64_t const last = 9223372036854775805;
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource + "', " +
                            std::to_string(last) + ")");
    EXPECT_EQ(locks.acquire(resource, {.confirm = true}).token(), last + 1);
    EXPECT_EQ(locks.acquire(resource, {.confirm = true}).token(), last + 2);
    EXPECT_THROW(locks.acquire(resource), configuration_error);
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

} // namespace
} // namespace fencelock::test
