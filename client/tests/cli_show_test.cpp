// fencelock show: what it prints of one resource and of all, and what of servers that fail.
#include "cli_fixture.hpp"
#include "support/redis_nodes.hpp"

namespace fencelock::test {
namespace {

class cli_show : public cli_fixture {};

TEST_F(cli_show, tells_of_redis_and_of_the_database)
{
    auto const free = run({"show", "-r", resource});
    EXPECT_EQ(free.code, 0);
    EXPECT_EQ(free.out, resource + "\n  redis     not held\n  database  no mark, none issued, no "
                                   "lease\n");
    auto const held = acquire({"--owner", "me", "--ttl", "1h"});
    auto const issued = std::to_string(std::stoll(held.token) + 999);
    auto const shown = run({"show", "-r", resource});
    EXPECT_NE(shown.out.find("held by me with token " + held.token + ", 3"), std::string::npos);
    EXPECT_NE(shown.out.find("mark " + held.token + ", issued " + issued + ", no lease"),
              std::string::npos)
        << shown.out;
    auto const json = run({"show", "-r", resource, "--json"});
    EXPECT_NE(json.out.find("\"redis\": {\"held\": true, \"owner\": \"me\", \"token\": " +
                            held.token + ", \"ttl_ms\": 3"),
              std::string::npos)
        << json.out;
    EXPECT_NE(json.out.find("\"database\": {\"mark\": " + held.token + ", \"issued\": " + issued +
                            ", \"lease\": null}"),
              std::string::npos)
        << json.out;
}

TEST_F(cli_show, lists_what_is_held_in_either)
{
    resource += " with space";
    acquire({"--ttl", "1h"});
    auto const leased = new_resource();
    EXPECT_EQ(run_cli({"acquire", "-r", leased, "--owner", "me", "--ttl", "1h"},
                      {"FENCELOCK_DB=" + shared_postgres().conninfo()})
                  .code,
              0);
    auto const shown = run({"show"});
    EXPECT_EQ(shown.code, 0);
    EXPECT_NE(shown.out.find(resource + "\n  redis     held by"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find(leased + "\n  redis     not held"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("leased to me with token"), std::string::npos) << shown.out;
}

// Both nodes of a cluster, each with half of the slots.
TEST_F(cli_show, and_doctor_look_at_every_node_of_a_cluster)
{
    test_support::redis_nodes nodes{2};
    std::vector<std::string> const of_cluster{"FENCELOCK_REDIS=" + nodes.url(),
                                              "FENCELOCK_DB=" + shared_postgres().conninfo()};

    std::vector<std::string> held;
    auto const on_both = [&] {
        return nodes[0].command({"DBSIZE"}) != "0" && nodes[1].command({"DBSIZE"}) != "0";
    };
    while (!on_both()) {
        held.push_back(new_resource());
        ASSERT_EQ(run_cli({"acquire", "-r", held.back()}, of_cluster).code, 0);
    }
    auto const shown = run_cli({"show"}, of_cluster);
    EXPECT_EQ(shown.code, 0) << shown.err;
    for (auto const& name : held)
        EXPECT_NE(shown.out.find(name + "\n  redis     held by "), std::string::npos) << shown.out;

    auto const found = run_cli({"doctor"}, of_cluster);
    EXPECT_EQ(found.code, 1) << found.err;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        EXPECT_NE(found.out.find("Redis at 127.0.0.1:" + std::to_string(nodes[i].port()) +
                                 ": there is no append-only file"),
                  std::string::npos)
            << found.out;
    EXPECT_EQ(found.out.find("MOVED"), std::string::npos) << found.out;
    EXPECT_EQ(found.out.find("CROSSSLOT"), std::string::npos) << found.out;
}

TEST_F(cli_show, tells_of_the_database_where_redis_is_frozen)
{
    test_support::redis_server frozen;
    auto const leased = run_cli({"acquire", "-r", resource, "--ttl", "1h"}, {environment[1]});
    ASSERT_EQ(leased.code, 0);
    frozen.pause();
    for (std::vector<std::string> const& of :
         {std::vector<std::string>{"show"}, {"show", "-r", resource}, {"--json", "show"}}) {
        auto words = of;
        words.insert(words.begin(), {"--redis", frozen.socket_url()});
        auto const shown = run(words);
        EXPECT_EQ(shown.code, 69) << shown.err;
        EXPECT_NE(shown.out.find(resource), std::string::npos) << shown.out;
        EXPECT_NE(shown.out.find("lease"), std::string::npos) << shown.out;
        EXPECT_EQ(shown.out.find("redis"), std::string::npos) << shown.out;
    }
    frozen.resume();
}

TEST_F(cli_show, tells_of_redis_where_the_database_is_away_or_unprepared)
{
    auto const held = acquire({"--ttl", "1h"});
    shared_postgres().create_database("unprepared");
    for (auto const& [db, code] : {std::pair{std::string{"host=/nonexistent dbname=postgres"}, 69},
                                   {shared_postgres().conninfo("unprepared"), 70}}) {
        auto const shown = run({"--db", db, "show", "-r", resource});
        EXPECT_EQ(shown.code, code) << shown.err;
        EXPECT_NE(shown.out.find("held by " + held.owner), std::string::npos) << shown.out;
    }
}

TEST_F(cli_show, a_key_of_another_type_is_told_and_the_rest_is_shown)
{
    test_support::redis_server server;
    auto const other = new_resource();
    server.command({"SET", lock_key(resource), "7:somebody", "PX", "3600000"});
    server.command({"LPUSH", lock_key(other), "no lock"});
    auto const shown = run({"--redis", server.socket_url(), "show"});
    EXPECT_EQ(shown.code, 70);
    EXPECT_NE(shown.out.find(resource + "\n  redis     held by somebody with token 7"),
              std::string::npos)
        << shown.out;
    EXPECT_NE(
        shown.out.find(other + "\n  redis     cannot be read: " + lock_key(other) + ": WRONGTYPE"),
        std::string::npos)
        << shown.out;
    auto const json = run({"--redis", server.socket_url(), "--json", "show", "-r", other});
    EXPECT_NE(json.out.find("\"redis\": {\"error\": \"" + lock_key(other) + ": WRONGTYPE"),
              std::string::npos)
        << json.out;
}

TEST_F(cli_show, a_user_who_may_not_scan_sees_what_is_leased_in_postgresql)
{
    test_support::redis_server server;
    server.command({"ACL",      "SETUSER", "poor",   "on",       ">secret", "~fencelock:*",
                    "-@all",    "+eval",   "+get",   "+set",     "+del",    "+hget",
                    "+hmget",   "+hset",   "+hdel",  "+hincrby", "+pttl",   "+pexpire",
                    "+evalsha", "+time",   "+blpop", "+lpush",   "+llen",   "+info"});
    auto const leased = run_cli({"acquire", "-r", resource, "--ttl", "1h"}, {environment[1]});
    ASSERT_EQ(leased.code, 0);
    auto const shown =
        run({"--redis", "redis://poor:secret@127.0.0.1:" + std::to_string(server.port()), "show"});
    EXPECT_EQ(shown.code, 70);
    EXPECT_NE(shown.err.find("NOPERM"), std::string::npos) << shown.err;
    EXPECT_NE(shown.err.find("(the user needs +scan)\n"), std::string::npos) << shown.err;
    EXPECT_NE(shown.out.find(resource + "\n  redis     not held"), std::string::npos) << shown.out;
}

} // namespace
} // namespace fencelock::test
