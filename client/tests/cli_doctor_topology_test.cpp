// fencelock doctor: what it finds on sentinels and in clusters.
#include "cli_program.hpp"
#include "servers.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/redis_nodes.hpp"

namespace fencelock::test {
namespace {

using test_support::redis_server;

class cli_doctor_topology : public ::testing::Test {
  protected:
    static std::unique_ptr<redis_server> new_sentinel(redis_server const& of, int quorum = 2)
    {
        return std::make_unique<redis_server>(test_support::redis_options{
            .arguments = {"--sentinel"},
            .configuration = "sentinel monitor shop 127.0.0.1 " + std::to_string(of.port()) + " " +
                             std::to_string(quorum) +
                             "\nsentinel down-after-milliseconds shop 1000\n"});
    }

    static std::string place_of(redis_server const& server)
    {
        return "127.0.0.1:" + std::to_string(server.port());
    }

    static std::string url_of(std::vector<redis_server const*> const& sentinels)
    {
        std::string places;
        for (auto const* one : sentinels)
            places += (places.empty() ? "" : ",") + place_of(*one);
        return "redis+sentinel://" + places + "/shop";
    }

    static cli_outcome doctor(std::string const& url)
    {
        return run_cli({"--redis", url, "doctor"});
    }

    static bool contains(cli_outcome const& outcome, std::string const& words)
    {
        return outcome.out.find(words) != std::string::npos;
    }
};

class cli_doctor_sentinels : public cli_doctor_topology {
  protected:
    cli_doctor_sentinels()
    {
        // A sentinel looks for replicas every ten seconds, and for others every two.
        EXPECT_TRUE(wait_until([&] { return doctor(url()).code == 0; })) << doctor(url()).out;
    }

    std::string url() const
    {
        return url_of({watchers[0].get(), watchers[1].get(), watchers[2].get()});
    }

    redis_server primary{{.persistent = true}};
    redis_server replica{{.persistent = true,
                          .arguments = {"--replicaof", "127.0.0.1", std::to_string(primary.port()),
                                        "--repl-diskless-sync-delay", "0"}}};
    bool const guarded = primary.command({"CONFIG", "SET", "min-replicas-to-write", "1"}) == "OK";
    std::array<std::unique_ptr<redis_server>, 3> watchers{
        new_sentinel(primary), new_sentinel(primary), new_sentinel(primary)};
};

TEST_F(cli_doctor_sentinels, the_settings_of_the_primary_are_looked_at)
{
    primary.command({"CONFIG", "SET", "maxmemory", "100mb"});
    primary.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    auto const outcome = doctor(url());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome, "redis: maxmemory-policy allkeys-lru evicts locks"))
        << outcome.out;
    EXPECT_FALSE(contains(outcome, "sentinel ")) << outcome.out;
}

TEST_F(cli_doctor_sentinels, lost_sentinels_are_named_and_the_quorum_they_take_along)
{
    watchers[1]->kill9();
    auto const one_less = doctor(url());
    EXPECT_EQ(one_less.code, 1);
    EXPECT_TRUE(contains(one_less, "sentinel " + place_of(*watchers[1]) + ": it does not answer"))
        << one_less.out;
    EXPECT_FALSE(contains(one_less, "sentinel " + place_of(*watchers[0]))) << one_less.out;
    watchers[2]->kill9();
    EXPECT_TRUE(wait_until([&] {
        return contains(doctor(url()), "sentinel " + place_of(*watchers[0]) +
                                           ": it could not have a lost primary replaced: NOQUORUM");
    })) << doctor(url()).out;
    watchers[0]->kill9();
    auto const none = doctor(url());
    EXPECT_EQ(none.code, 69) << none.err;
    EXPECT_TRUE(contains(none, "sentinel " + place_of(*watchers[0]) + ": it does not answer"));
}

TEST_F(cli_doctor_sentinels, a_primary_that_is_down_and_without_a_replica_is_told_by_its_sentinels)
{
    replica.kill9();
    primary.kill9();
    EXPECT_TRUE(wait_until([&] { return contains(doctor(url()), "takes the primary for down"); }));
    EXPECT_EQ(doctor(url()).code, 69);
}

TEST_F(cli_doctor_topology, sentinels_that_are_few_see_no_replica_or_disagree_are_found)
{
    redis_server one{{.persistent = true}};
    redis_server other{{.persistent = true}};
    auto const first = new_sentinel(one, 1);
    auto const second = new_sentinel(other, 1);
    auto const outcome = doctor(url_of({first.get(), second.get()}));
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    for (auto const& sentinel : {first.get(), second.get()}) {
        auto const name = "sentinel " + place_of(*sentinel) + ": ";
        EXPECT_TRUE(contains(outcome, name + "it knows no replica")) << outcome.out;
        EXPECT_TRUE(contains(outcome, name + "it knows 1 sentinels")) << outcome.out;
    }
    EXPECT_TRUE(contains(outcome, "sentinels: they name different primaries: "));
    EXPECT_TRUE(contains(outcome, place_of(one)));
    EXPECT_TRUE(contains(outcome, place_of(other)));

    auto const misnamed = doctor("redis+sentinel://" + place_of(*first) + "/other");
    EXPECT_NE(misnamed.code, 0);
    EXPECT_TRUE(contains(misnamed, "it knows no primary \"other\"")) << misnamed.out;
}

TEST_F(cli_doctor_topology, a_sentinel_that_wants_a_password_is_told_apart_from_a_lost_one)
{
    redis_server one{{.persistent = true}};
    redis_server sentinel{{.password = "secret",
                           .arguments = {"--sentinel"},
                           .configuration = "sentinel monitor shop 127.0.0.1 " +
                                            std::to_string(one.port()) + " 1\n"}};
    auto const outcome = doctor(url_of({&sentinel}));
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(contains(outcome, "it refuses: ")) << outcome.out;
    EXPECT_TRUE(contains(outcome, "NOAUTH")) << outcome.out;
    EXPECT_EQ(doctor(url_of({&sentinel}) + "?sentinel_password=secret").code, 1);
}

TEST_F(cli_doctor_topology, a_cluster_is_looked_at_through_each_primary)
{
    test_support::redis_nodes nodes{
        3, 0, {"--cluster-node-timeout", "1000", "--appendonly", "yes"}};
    EXPECT_EQ(doctor(nodes.url()).code, 0) << doctor(nodes.url()).out;
    nodes[1].command({"CONFIG", "SET", "appendonly", "no"});
    auto const one = doctor(nodes.url());
    EXPECT_EQ(one.code, 1);
    EXPECT_TRUE(contains(one, "Redis at " + place_of(nodes[1]) + ": there is no append-only"))
        << one.out;

    nodes[2].kill9();
    auto const failed = [&] {
        auto const seen = doctor(nodes.url());
        return seen.code == 1 &&
               contains(seen, "Redis at " + place_of(nodes[2]) + ": it does not answer") &&
               contains(seen,
                        "Redis at " + place_of(nodes[0]) + ": it takes the cluster for failed");
    };
    EXPECT_TRUE(wait_until(failed)) << doctor(nodes.url()).out;
    EXPECT_TRUE(contains(doctor(nodes.url()), "of 16384 slots served")) << doctor(nodes.url()).out;
}

TEST_F(cli_doctor_topology, slots_that_belong_to_nobody_are_found)
{
    test_support::redis_nodes nodes{2, 0, {"--appendonly", "yes"}};
    for (std::size_t i = 0; i < nodes.size(); ++i)
        nodes[i].command({"CLUSTER", "DELSLOTS", "0"});
    EXPECT_TRUE(wait_until([&] {
        return contains(doctor(nodes.url()),
                        "Redis at " + place_of(nodes[0]) + ": it sees 16383 of 16384 slots");
    })) << doctor(nodes.url()).out;
}

} // namespace
} // namespace fencelock::test
