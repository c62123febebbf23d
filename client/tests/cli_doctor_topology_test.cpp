// fencelock doctor: what it finds on sentinels and in clusters.
#include "cli_program.hpp"
#include "servers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

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

    // On a busy machine a server may not answer doctor in time, which it tells: then once more.
    static void doctor_until(std::string const& url,
                             std::function<bool(cli_outcome const&)> const& expected)
    {
        cli_outcome outcome{};
        EXPECT_TRUE(wait_until([&] { return expected(outcome = doctor(url)); }))
            << outcome.out << outcome.err;
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
        doctor_until(url(), [](cli_outcome const& outcome) { return outcome.code == 0; });
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
    doctor_until(url(), [](cli_outcome const& outcome) {
        return outcome.code == 1 &&
               contains(outcome, "redis: maxmemory-policy allkeys-lru evicts locks") &&
               !contains(outcome, "sentinel ");
    });
}

TEST_F(cli_doctor_sentinels, lost_sentinels_are_named_and_the_quorum_they_take_along)
{
    auto const of = [&](std::size_t i) { return "sentinel " + place_of(*watchers[i]) + ": "; };
    watchers[1]->kill9();
    doctor_until(url(), [&](cli_outcome const& outcome) {
        return outcome.code == 1 && contains(outcome, of(1) + "it does not answer") &&
               !contains(outcome, of(0)) && !contains(outcome, of(2));
    });
    watchers[2]->kill9();
    doctor_until(url(), [&](cli_outcome const& outcome) {
        return contains(outcome, of(0) + "it could not have a lost primary replaced: NOQUORUM");
    });
    watchers[0]->kill9();
    auto const none = doctor(url());
    EXPECT_EQ(none.code, 69) << none.err;
    EXPECT_TRUE(contains(none, of(0) + "it does not answer"));
}

TEST_F(cli_doctor_sentinels, a_primary_that_is_down_and_without_a_replica_is_told_by_its_sentinels)
{
    replica.kill9();
    primary.kill9();
    doctor_until(url(), [](cli_outcome const& outcome) {
        return outcome.code == 69 && contains(outcome, "takes the primary for down");
    });
}

TEST_F(cli_doctor_topology, sentinels_that_are_few_see_no_replica_or_disagree_are_found)
{
    redis_server one{{.persistent = true}};
    redis_server other{{.persistent = true}};
    auto const first = new_sentinel(one, 1);
    auto const second = new_sentinel(other, 1);
    doctor_until(url_of({first.get(), second.get()}), [&](cli_outcome const& outcome) {
        bool all = outcome.code == 1 &&
                   contains(outcome, "sentinels: they name different primaries: ") &&
                   contains(outcome, place_of(one)) && contains(outcome, place_of(other));
        for (auto const& sentinel : {first.get(), second.get()}) {
            auto const name = "sentinel " + place_of(*sentinel) + ": ";
            all = all && contains(outcome, name + "it knows no replica") &&
                  contains(outcome, name + "it knows 1 sentinels");
        }
        return all;
    });

    doctor_until("redis+sentinel://" + place_of(*first) + "/other", [](cli_outcome const& outcome) {
        return outcome.code != 0 && contains(outcome, "it knows no primary \"other\"");
    });
}

TEST_F(cli_doctor_topology, a_sentinel_that_wants_a_password_is_told_apart_from_a_lost_one)
{
    redis_server one{{.persistent = true}};
    redis_server sentinel{{.password = "secret",
                           .arguments = {"--sentinel"},
                           .configuration = "sentinel monitor shop 127.0.0.1 " +
                                            std::to_string(one.port()) + " 1\n"}};
    doctor_until(url_of({&sentinel}), [](cli_outcome const& outcome) {
        return outcome.code != 0 && contains(outcome, "it refuses: ") &&
               contains(outcome, "NOAUTH");
    });
    doctor_until(url_of({&sentinel}) + "?sentinel_password=secret",
                 [](cli_outcome const& outcome) { return outcome.code == 1; });
}

TEST_F(cli_doctor_topology, a_cluster_is_looked_at_through_each_primary)
{
    test_support::redis_nodes nodes{
        3, 0, {"--cluster-node-timeout", "1000", "--appendonly", "yes"}};
    auto const of = [&](std::size_t i) { return "Redis at " + place_of(nodes[i]) + ": "; };
    doctor_until(nodes.url(), [](cli_outcome const& outcome) { return outcome.code == 0; });
    nodes[1].command({"CONFIG", "SET", "appendonly", "no"});
    doctor_until(nodes.url(), [&](cli_outcome const& outcome) {
        return outcome.code == 1 && contains(outcome, of(1) + "there is no append-only") &&
               !contains(outcome, of(0)) && !contains(outcome, of(2));
    });
    nodes[2].kill9();
    doctor_until(nodes.url(), [&](cli_outcome const& outcome) {
        return outcome.code == 1 && contains(outcome, of(2) + "it does not answer") &&
               contains(outcome, of(0) + "it takes the cluster for failed") &&
               contains(outcome, "of 16384 slots served");
    });
}

TEST_F(cli_doctor_topology, slots_that_belong_to_nobody_are_found)
{
    test_support::redis_nodes nodes{2, 0, {"--appendonly", "yes"}};
    for (std::size_t i = 0; i < nodes.size(); ++i)
        nodes[i].command({"CLUSTER", "DELSLOTS", "0"});
    doctor_until(nodes.url(), [&](cli_outcome const& outcome) {
        return contains(outcome,
                        "Redis at " + place_of(nodes[0]) + ": it sees 16383 of 16384 slots");
    });
}

} // namespace
} // namespace fencelock::test
