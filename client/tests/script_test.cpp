// The acquire script step by step: what a client of ours does not do by itself, or not at a chosen
// moment.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <array>

#include "redis_pool.hpp"

namespace fencelock::test {
namespace {

using detail::steady;

struct acquire_call {
    std::string owner = "owner-a";
    std::string ttl = "60000";
    std::string not_after = "9000000000000";
    std::string above = "0";
    std::string history = "history-1";
    std::string ticket{};
    std::string before{};
    std::string last{};
};

class acquire_script : public ::testing::Test {
  protected:
    std::vector<std::string> run(acquire_call const& call)
    {
        auto const deadline = steady::now() + 60s;
        auto const reply = detail::run_script(
            link_, detail::acquire_script, std::array{lock_key(resource), state_key(resource)},
            std::array<std::string, 9>{call.owner, call.ttl, call.not_after, call.above,
                                       call.history, "86400000", call.ticket, call.before,
                                       call.last},
            deadline);
        std::vector<std::string> words;
        for (auto const& element : reply.elements)
            words.push_back(element.type == detail::redis_reply::kind::integer
                                ? std::to_string(element.integer)
                                : element.text);
        words.pop_back(); // the time
        return words;
    }

    // Demands a ticket and gives a block for it.
    std::vector<std::string> seed(acquire_call call, std::string before, std::string last)
    {
        call.ticket = run(call).at(1);
        call.before = std::move(before);
        call.last = std::move(last);
        return run(call);
    }

    void unlock() { shared_redis().command({"DEL", lock_key(resource)}); }

    std::string resource = new_resource();

  private:
    detail::redis_link link_{detail::parse_redis_url(shared_redis().url()).servers.at(0),
                             steady::now() + 60s};
};

using words = std::vector<std::string>;

TEST_F(acquire_script, what_arrives_after_its_time_takes_nothing)
{
    EXPECT_EQ(seed({}, "0", "10"), (words{"GRANTED", "1", "10"}));
    unlock();
    EXPECT_EQ(run({.not_after = "1000"}), words{"LATE"});
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

TEST_F(acquire_script, the_same_owner_gets_the_same_token_as_often_as_it_asks)
{
    seed({}, "0", "10");
    shared_redis().command({"PEXPIRE", lock_key(resource), "1000"});
    EXPECT_EQ(run({}), (words{"GRANTED", "1", "10"}));
    EXPECT_GT(std::stoll(*shared_redis().command({"PTTL", lock_key(resource)})), 1000);
    EXPECT_EQ(run({}), (words{"GRANTED", "1", "10"}));
    EXPECT_EQ(run({.above = "1"}), (words{"GRANTED", "2", "10"}));
}

TEST_F(acquire_script, owners_are_opaque_bytes)
{
    std::string const odd{"a:b\0\xFF:", 6};
    EXPECT_EQ(seed({.owner = odd}, "0", "10").at(0), "GRANTED");
    EXPECT_EQ(run({.owner = odd}), (words{"GRANTED", "1", "10"}));
    EXPECT_EQ(run({.owner = "a"}).at(0), "BUSY");
    EXPECT_EQ(run({.owner = odd.substr(2)}).at(0), "BUSY");
}

TEST_F(acquire_script, others_are_told_how_long_the_lease_runs)
{
    seed({}, "0", "10");
    auto const busy = run({.owner = "owner-b"});
    EXPECT_EQ(busy.at(0), "BUSY");
    EXPECT_GT(std::stoll(busy.at(1)), 0);
    EXPECT_LE(std::stoll(busy.at(1)), 60'000);
}

TEST_F(acquire_script, one_ticket_is_pending_however_many_ask)
{
    auto const first = run({});
    EXPECT_EQ(first.at(0), "SEED");
    EXPECT_EQ(run({.owner = "owner-b"}), first);
}

TEST_F(acquire_script, a_used_ticket_is_used_up)
{
    auto const ticket = run({}).at(1);
    EXPECT_EQ(run({.ticket = ticket, .before = "0", .last = "10"}).at(0), "GRANTED");
    unlock();
    shared_redis().command({"DEL", state_key(resource)});
    // The block was used; after the loss of the state it must not come back.
    auto const late = run({.ticket = ticket, .before = "0", .last = "10"});
    EXPECT_EQ(late.at(0), "SEED");
    EXPECT_NE(late.at(1), ticket);
}

TEST_F(acquire_script, a_late_seed_does_not_replace_the_block_in_use)
{
    auto const ticket = run({}).at(1);
    EXPECT_EQ(run({.ticket = ticket, .before = "100", .last = "200"}),
              (words{"GRANTED", "101", "200"}));
    unlock();
    EXPECT_EQ(run({.owner = "owner-b", .ticket = ticket, .before = "0", .last = "10"}),
              (words{"GRANTED", "102", "200"}));
}

TEST_F(acquire_script, a_ticket_of_another_lineage_is_void)
{
    auto const foreign = std::string(40, 'f') + ":1.2:3";
    shared_redis().command({"HSET", state_key(resource), "ticket", foreign});
    auto const answer = run({.ticket = foreign, .before = "0", .last = "10"});
    EXPECT_EQ(answer.at(0), "SEED");
    EXPECT_NE(answer.at(1), foreign);
}

TEST_F(acquire_script, a_block_below_the_known_end_is_refused_and_its_ticket_used_up)
{
    seed({}, "100", "110");
    unlock();
    auto const demand = run({.above = "110"});
    EXPECT_EQ(demand.at(0), "SEED");
    EXPECT_EQ(demand.at(2), "110");
    auto const answer = run({.above = "110", .ticket = demand.at(1), .before = "50", .last = "60"});
    EXPECT_EQ(answer.at(0), "SEED");
    EXPECT_NE(answer.at(1), demand.at(1));
    EXPECT_EQ(run({.above = "110", .ticket = answer.at(1), .before = "110", .last = "120"}),
              (words{"GRANTED", "111", "120"}));
}

TEST_F(acquire_script, another_history_another_lineage_and_a_block_used_up_need_a_seed)
{
    seed({}, "0", "2");
    unlock();
    EXPECT_EQ(run({.history = "history-2"}).at(0), "SEED");
    EXPECT_EQ(run({}), (words{"GRANTED", "2", "2"}));
    unlock();
    EXPECT_EQ(run({}).at(0), "SEED");
    seed({}, "2", "10");
    unlock();
    shared_redis().command({"HSET", state_key(resource), "lineage", std::string(40, 'f')});
    EXPECT_EQ(run({}).at(0), "SEED");
}

TEST_F(acquire_script, decimals_are_compared_as_numbers_of_any_length)
{
    EXPECT_EQ(seed({}, "99", "1000"), (words{"GRANTED", "100", "1000"}));
    unlock();
    EXPECT_EQ(run({.above = "9"}), (words{"GRANTED", "101", "1000"}));
    unlock();
    EXPECT_EQ(run({.above = "102"}).at(0), "SEED");
    seed({.above = "102"}, "9007199254740992", "9007199254740994"); // 2^53
    unlock();
    EXPECT_EQ(run({.above = "9007199254740992"}),
              (words{"GRANTED", "9007199254740994", "9007199254740994"}));
    unlock();
    EXPECT_EQ(run({}).at(0), "SEED");
    EXPECT_EQ(seed({}, "9223372036854775806", "9223372036854775807"),
              (words{"GRANTED", "9223372036854775807", "9223372036854775807"}));
    unlock();
    auto const exhausted = run({});
    EXPECT_EQ(exhausted.at(0), "SEED");
    EXPECT_EQ(exhausted.at(2), "9223372036854775807");
}

TEST_F(acquire_script, a_replica_grants_nothing_even_where_it_can_be_written)
{
    seed({}, "0", "10");
    unlock();
    test_support::redis_server replica;
    auto copy = [&] {
        for (std::string const field : {"lineage", "history", "last", "end"})
            replica.command({"HSET", state_key(resource), field,
                             shared_redis().command({"HGET", state_key(resource), field}).value()});
    };
    copy();
    replica.command({"REPLICAOF", "127.0.0.1", "1"}); // never connects
    replica.command({"CONFIG", "SET", "replica-read-only", "no"});
    detail::redis_link link{detail::parse_redis_url(replica.url()).servers.at(0),
                            steady::now() + 60s};
    EXPECT_THROW(detail::run_script(link, detail::acquire_script,
                                    std::array{lock_key(resource), state_key(resource)},
                                    std::array<std::string, 9>{"o", "1000", "9000000000000", "0",
                                                               "history-1", "86400000", "", "", ""},
                                    steady::now() + 60s),
                 detail::redis_error);
    EXPECT_FALSE(replica.command({"GET", lock_key(resource)}));
}

// One whose primary is not there, so that nothing it says comes from elsewhere; readable or
// writable.
TEST_F(acquire_script, a_replica_answers_every_script_with_an_error)
{
    test_support::redis_server replica;
    replica.command({"SET", lock_key(resource), "7:o"});
    replica.command({"SET", "fence:" + resource, "7"});
    replica.command({"REPLICAOF", "127.0.0.1", "1"}); // never connects
    detail::redis_link link{detail::parse_redis_url(replica.url()).servers.at(0),
                            steady::now() + 60s};
    auto const lock = lock_key(resource);
    struct call {
        detail::script const& what;
        std::vector<std::string> keys, arguments;
    };
    std::vector<call> const calls{
        {detail::acquire_script,
         {lock, state_key(resource)},
         {"o", "1000", "9000000000000", "0", "history-1", "86400000", "", "", ""}},
        {detail::acquire_script, // late, and held by another
         {lock, state_key(resource)},
         {"other", "1000", "1000", "0", "history-1", "86400000", "", "", ""}},
        {detail::acquire_plain_script,
         {lock, "fence:" + resource},
         {"o", "1000", "9000000000000", "0"}},
        {detail::acquire_plain_script, {lock, "fence:" + resource}, {"other", "1000", "1000", "0"}},
        {detail::renew_script, {lock}, {"o", "7", "1000", "9000000000000"}},
        {detail::renew_script, {lock}, {"o", "7", "1000", "1000"}},
        {detail::release_script, {lock, lock + ":wake", state_key(resource)}, {"o", "7", "9"}},
        {detail::release_script, {lock}, {"other", "", ""}},
    };
    for (auto const* read_only : {"yes", "no"}) {
        replica.command({"CONFIG", "SET", "replica-read-only", read_only});
        for (auto const& call : calls) {
            try {
                detail::run_script(link, call.what, call.keys, call.arguments, steady::now() + 60s);
                ADD_FAILURE() << "answered";
            } catch (detail::redis_error const& e) {
                EXPECT_TRUE(detail::is_of_server(e.what())) << e.what();
            }
        }
    }
    EXPECT_EQ(replica.command({"GET", lock}), "7:o");
}

TEST_F(acquire_script, the_smallest_acl_is_enough)
{
    add_smallest_user(shared_redis());
    auto url = shared_redis().url();
    url.insert(url.find("//") + 2, "fencelock:secret@");
    redis_locks redis{url};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto lock = locks.acquire(resource);
    EXPECT_TRUE(lock.renew());
    EXPECT_EQ(lock.release(), release_outcome::released);
}

TEST_F(acquire_script, release_works_where_memory_is_full)
{
    test_support::redis_server full;
    redis_locks redis{full.url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    auto lock = locks.acquire(resource);
    full.command({"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_TRUE(lock.renew());
    EXPECT_THROW(locks.try_acquire(new_resource()), issuer_unavailable);
    EXPECT_EQ(lock.release(), release_outcome::released);
}

} // namespace
} // namespace fencelock::test
