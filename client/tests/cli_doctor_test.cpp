// fencelock doctor: what it finds on servers of many kinds.
#include "cli_program.hpp"
#include "servers.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace fencelock::test {
namespace {

class cli_doctor : public ::testing::Test {
  protected:
    test_support::redis_server redis{{.persistent = true}};

    static test_support::postgres_server& healthy_postgres()
    {
        static test_support::postgres_server server{
            {.fsync = true, .settings = {"shared_preload_libraries=fencelock"}}};
        static bool const installed = (install_extension(server), true);
        (void)installed;
        return server;
    }

    cli_outcome of_redis(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), {"--redis", redis.socket_url(), "doctor"});
        return run_cli(arguments);
    }

    static cli_outcome of_database(std::string const& conninfo)
    {
        return run_cli({"--db", conninfo, "doctor"});
    }

    static void expect_finding(cli_outcome const& outcome, std::string const& words)
    {
        EXPECT_EQ(outcome.code, 1) << outcome.err;
        EXPECT_NE(outcome.out.find(words), std::string::npos) << outcome.out;
    }
};

TEST_F(cli_doctor, servers_as_they_should_be_are_0_without_a_word)
{
    auto const outcome =
        run_cli({"--redis", redis.socket_url(), "--db", healthy_postgres().conninfo(), "doctor"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(redis.command({"DBSIZE"}), "0"); // it leaves nothing behind
}

TEST_F(cli_doctor, eviction_is_found_where_memory_is_limited)
{
    redis.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    EXPECT_EQ(of_redis().code, 0);
    redis.command({"CONFIG", "SET", "maxmemory", "100mb"});
    expect_finding(of_redis(), "maxmemory-policy allkeys-lru evicts locks");
    redis.command({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
    expect_finding(of_redis(), "maxmemory-policy volatile-ttl evicts locks");
    redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    EXPECT_EQ(of_redis().code, 0);
}

TEST_F(cli_doctor, missing_persistence_is_found)
{
    redis.command({"CONFIG", "SET", "appendonly", "no"});
    expect_finding(of_redis(), "there is no append-only file");
}

TEST_F(cli_doctor, a_replica_is_found_and_says_where_its_primary_is)
{
    redis.command({"REPLICAOF", "127.0.0.1", std::to_string(shared_redis().port())});
    auto const outcome = of_redis();
    expect_finding(outcome, "is a replica");
    EXPECT_NE(outcome.out.find("127.0.0.1:" + std::to_string(shared_redis().port())),
              std::string::npos);
}

TEST_F(cli_doctor, missing_rights_are_named)
{
    // Redis 6 has no patterns for a single section of INFO, so these are taken away one by one.
    for (std::string const command :
         {"blpop", "hincrby", "hmget", "set", "evalsha", "eval", "time", "pttl", "lpush", "info"}) {
        redis.command({"ACL", "SETUSER", "poor", "reset", "on", ">secret", "~fencelock:*", "+@all",
                       "-" + command});
        auto const outcome = run_cli(
            {"--redis", "redis://poor:secret@127.0.0.1:" + std::to_string(redis.port()), "doctor"});
        std::string upper = command;
        for (char& c : upper)
            c = static_cast<char>(std::toupper(c));
        expect_finding(outcome, "may not use " + upper);
    }
    redis.command({"ACL", "SETUSER", "poor", "reset", "on", ">secret", "~something:*", "+@all"});
    expect_finding(
        run_cli(
            {"--redis", "redis://poor:secret@127.0.0.1:" + std::to_string(redis.port()), "doctor"}),
        "may not use");
}

TEST_F(cli_doctor, locks_without_a_ttl_are_found)
{
    redis.command({"SET", lock_key("order:1"), "7:somebody", "PX", "3600000"});
    redis.command({"SET", "lock:order:1", "somebody"}); // no lock here, unless keys are plain
    EXPECT_EQ(of_redis().code, 0);
    redis.command({"SET", lock_key("order:2"), "8:somebody"});
    expect_finding(of_redis(),
                   "1 lock has no TTL, and will never end by itself: " + lock_key("order:2"));
    redis.command({"SET", lock_key("order:3"), "9:somebody"});
    expect_finding(of_redis(), "2 locks have no TTL");
    expect_finding(of_redis({"--keys", "plain"}), "1 lock has no TTL");
}

TEST_F(cli_doctor, a_user_who_may_not_scan_is_told_what_show_lacks)
{
    redis.command({"ACL", "SETUSER", "poor", "on", ">secret", "~fencelock:*", "+@all", "-scan"});
    auto const outcome = run_cli(
        {"--redis", "redis://poor:secret@127.0.0.1:" + std::to_string(redis.port()), "doctor"});
    EXPECT_EQ(outcome.code, 0) << outcome.out; // locking needs no SCAN
    EXPECT_NE(outcome.err.find("`show` cannot list what is held"), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("(the user needs +scan)\n"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("+info"), std::string::npos) << outcome.err;
}

TEST_F(cli_doctor, what_plain_keys_give_up_is_told)
{
    expect_finding(of_redis({"--keys", "plain"}), "tokens repeat");
    redis.command({"CONFIG", "SET", "appendfsync", "everysec"});
    expect_finding(of_redis({"--keys", "plain"}), "appendfsync");
    EXPECT_EQ(of_redis().code, 0); // for tagged keys it will do
    healthy_postgres().query("SELECT \"Fence it\".fence_issue('some')");
    expect_finding(run_cli({"--redis", redis.socket_url(), "--db", healthy_postgres().conninfo(),
                            "--keys", "plain", "doctor"}),
                   "fence_prune");
}

TEST_F(cli_doctor, a_database_without_the_extension_is_found)
{
    healthy_postgres().create_database("bare");
    expect_finding(of_database(healthy_postgres().conninfo("bare")), "no extension fencelock");
}

TEST_F(cli_doctor, a_database_that_is_read_only_is_found_and_where_that_is_set)
{
    auto& server = healthy_postgres();
    server.create_database("read only");
    server.query("CREATE EXTENSION fencelock", "read only");
    server.query("DROP ROLE IF EXISTS reader");
    server.query("CREATE ROLE reader LOGIN SUPERUSER");
    auto const conninfo = server.conninfo() + " user=reader dbname='read only'";
    auto const as_the_reader = [&](std::string const& sql) {
        pqxx::connection connection{conninfo};
        pqxx::nontransaction{connection}.exec(sql);
    };
    std::string const setting = "default_transaction_read_only";
    auto const expect_remedy = [&](cli_outcome const& outcome, std::string const& source,
                                   std::string const& remedy) {
        expect_finding(outcome, setting + " is on (" + source + "): no token is accepted");
        EXPECT_NE(outcome.out.find("    " + remedy), std::string::npos) << outcome.out;
    };
    EXPECT_EQ(of_database(conninfo).code, 0);
    expect_remedy(run_cli({"--db", conninfo, "doctor"}, {"PGOPTIONS=-c " + setting + "=on"}),
                  "client", "take it out of PGOPTIONS");
    for (auto const& [source, where] :
         {std::pair<std::string, std::string>{"user", "ROLE reader"},
          {"global", "ROLE ALL"},
          {"database", "DATABASE \"read only\""},
          {"database user", "ROLE reader IN DATABASE \"read only\""}}) {
        server.query("ALTER " + where + " SET " + setting + " = on");
        auto const remedy = "BEGIN READ WRITE; ALTER " + where + " RESET " + setting + "; COMMIT";
        expect_remedy(of_database(conninfo), source, remedy);
        as_the_reader(remedy);
        EXPECT_EQ(of_database(conninfo).code, 0) << source;
    }
    test_support::postgres_server started{{.fsync = true, .settings = {setting + "=on"}}};
    expect_remedy(of_database(started.conninfo()), "command line", "take it out of the options");
}

TEST_F(cli_doctor, a_standby_is_found)
{
    test_support::postgres_server server{{.fsync = true}};
    install_extension(server);
    server.stop();
    std::ofstream{server.data_directory() / "standby.signal"};
    server.start();
    auto const outcome = of_database(server.conninfo());
    expect_finding(outcome, "this server is a standby: it accepts no token");
    EXPECT_NE(outcome.out.find("connect to its primary"), std::string::npos) << outcome.out;
}

TEST_F(cli_doctor, tokens_that_every_connection_presents_are_found)
{
    healthy_postgres().create_database("presenting");
    healthy_postgres().query("CREATE EXTENSION fencelock", "presenting");
    healthy_postgres().query("ALTER DATABASE presenting SET fencelock.claims = '{}'");
    EXPECT_EQ(of_database(healthy_postgres().conninfo("presenting")).code, 0);
    healthy_postgres().query("ALTER DATABASE presenting SET fencelock.claims = '{\"order:1\": 1}'");
    expect_finding(of_database(healthy_postgres().conninfo("presenting")),
                   "new connections present tokens already");
}

TEST_F(cli_doctor, an_old_extension_is_found)
{
    healthy_postgres().create_database("old");
    healthy_postgres().query("CREATE EXTENSION fencelock VERSION '0.1.0'", "old");
    auto const outcome = of_database(healthy_postgres().conninfo("old"));
    expect_finding(outcome, "the extension here is version 0.1.0");
    EXPECT_NE(outcome.out.find("ALTER EXTENSION fencelock UPDATE"), std::string::npos);
}

TEST_F(cli_doctor, what_the_audit_finds_is_told)
{
    healthy_postgres().create_database("audited");
    healthy_postgres().query("CREATE EXTENSION fencelock", "audited");
    healthy_postgres().query("CREATE TABLE orders (id int PRIMARY KEY)", "audited");
    healthy_postgres().query("SELECT fence_attach('orders', 'order:{id}')", "audited");
    EXPECT_EQ(of_database(healthy_postgres().conninfo("audited")).code, 0);
    healthy_postgres().query("ALTER TABLE orders DISABLE TRIGGER ALL", "audited");
    auto const outcome = of_database(healthy_postgres().conninfo("audited"));
    expect_finding(outcome, "database: table public.orders: trigger zz_fence_guard is disabled");
    EXPECT_NE(outcome.out.find("ENABLE TRIGGER"), std::string::npos);
}

TEST_F(cli_doctor, a_role_without_rights_is_told_what_it_lacks)
{
    healthy_postgres().query("DO 'BEGIN DROP OWNED BY nobody_yet; DROP ROLE nobody_yet; "
                             "EXCEPTION WHEN undefined_object THEN END'");
    healthy_postgres().query("CREATE ROLE nobody_yet LOGIN");
    auto const conninfo = healthy_postgres().conninfo() + " user=nobody_yet";
    auto const outcome = of_database(conninfo);
    expect_finding(outcome, "role nobody_yet may not execute fence_check");
    EXPECT_NE(outcome.out.find("fence_grant('nobody_yet')"), std::string::npos);
    healthy_postgres().query("SELECT \"Fence it\".fence_grant('nobody_yet')");
    auto const granted = of_database(conninfo);
    EXPECT_EQ(granted.code, 0) << granted.out << granted.err;
    EXPECT_NE(granted.err.find("not checked: the guards"), std::string::npos);
}

TEST_F(cli_doctor, dangerous_settings_of_the_database_are_found)
{
    expect_finding(of_database(shared_postgres().conninfo()), "fsync is off");
}

TEST_F(cli_doctor, json_is_an_object_for_each_finding)
{
    redis.command({"CONFIG", "SET", "appendonly", "no"});
    auto const outcome = of_redis({"--json"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(
        outcome.out.rfind("{\"server\": \"redis\", \"finding\": \"there is no append-only", 0), 0U)
        << outcome.out;
    EXPECT_NE(outcome.out.find("\"remedy\": \"CONFIG SET appendonly yes, then CONFIG REWRITE, so "
                               "that a restart keeps it\"}\n"),
              std::string::npos)
        << outcome.out;
}

} // namespace
} // namespace fencelock::test
