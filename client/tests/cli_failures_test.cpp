// What acquire and its like say, and with which exit code, where a server is away, refuses, or
// keeps something odd.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

namespace fencelock::test {
namespace {

class cli_failures : public cli_fixture {
  protected:
    void expect_told(std::vector<std::string> const& where, int code, std::string const& remedy,
                     std::vector<std::string> const& commands = {"acquire", "renew", "release"})
    {
        auto const name = '"' + resource + '"';
        for (auto const& command : commands) {
            std::vector<std::string> words{command, "-r", resource};
            if (command != "acquire")
                words.insert(words.end(), {"--owner", "x", "--token", "1"});
            auto const outcome = run_cli(words, where);
            EXPECT_EQ(outcome.code, code) << outcome.err;
            auto const first = outcome.err.find(name);
            EXPECT_NE(first, std::string::npos) << outcome.err;
            EXPECT_EQ(outcome.err.find(name, first + 1), std::string::npos) << outcome.err;
            EXPECT_NE(outcome.err.find(remedy), std::string::npos) << outcome.err;
            EXPECT_EQ(outcome.err.find("script:"), std::string::npos) << outcome.err;
        }
    }
};

TEST_F(cli_failures, where_no_issuer_can_be_reached_it_is_69)
{
    test_support::redis_server gone;
    auto const nowhere = gone.socket_url();
    gone.stop();
    std::string const no_database = "host=/nonexistent dbname=postgres";
    EXPECT_EQ(run({"--redis", nowhere, "--db", no_database, "acquire", "-r", resource}).code, 69);
    EXPECT_EQ(run_cli({"--db", no_database, "acquire", "-r", resource}).code, 69);
    EXPECT_EQ(run({"--redis", nowhere, "show", "-r", resource}).code, 69);
    EXPECT_EQ(run({"--redis", nowhere, "doctor"}).code, 69);
    EXPECT_EQ(
        run({"--redis", nowhere, "renew", "-r", resource, "--owner", "x", "--token", "1"}).code,
        69);
    // Nothing could reserve tokens.
    auto const no_issuer =
        run_cli({"--redis", shared_redis().socket_url(), "acquire", "-r", resource});
    EXPECT_EQ(no_issuer.code, 69);
    EXPECT_NE(no_issuer.err.find("--db"), std::string::npos);
}

// Trying again would not help: 69 would say that it may.
TEST_F(cli_failures, a_connection_that_the_database_refuses_for_good_is_70_and_says_why)
{
    auto const conninfo = shared_postgres().conninfo();
    struct refusal {
        std::string db;
        std::string options;
        std::string says;
    };
    for (auto const& [db, options, says] :
         {refusal{conninfo + " dbname=nope", "", "database \"nope\" does not exist"},
          {conninfo + " user=nobody_knows", "", "role \"nobody_knows\" does not exist"},
          {conninfo, "garbage", "garbage"},
          {conninfo, "-c no_such_setting=1", "no_such_setting"}})
        for (auto const& words : {std::vector<std::string>{"acquire", "-r", resource},
                                  {"renew", "-r", resource, "--owner", "x", "--token", "1"},
                                  {"show", "-r", resource},
                                  {"doctor"}}) {
            auto const outcome = run_cli(words, {"FENCELOCK_DB=" + db, "PGOPTIONS=" + options});
            EXPECT_EQ(outcome.code, 70) << outcome.err;
            EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
        }
    EXPECT_EQ(run({"--db", conninfo + " dbname=nope", "acquire", "-r", resource}).code, 70);
}

TEST_F(cli_failures, a_connection_that_the_database_refuses_for_now_is_69)
{
    shared_postgres().create_database("full");
    shared_postgres().query("ALTER DATABASE \"full\" CONNECTION LIMIT 0");
    shared_postgres().query("CREATE ROLE somebody LOGIN");
    auto const outcome =
        run_cli({"acquire", "-r", resource},
                {"FENCELOCK_DB=" + shared_postgres().conninfo("full") + " user=somebody"});
    EXPECT_EQ(outcome.code, 69);
    EXPECT_NE(outcome.err.find("too many connections"), std::string::npos) << outcome.err;
}

TEST_F(cli_failures, a_fallback_to_postgresql_is_told_with_its_reason)
{
    std::vector<std::string> const nowhere{"--redis", "redis://127.0.0.1:1"};
    auto const at = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), nowhere.begin(), nowhere.end());
        return run(arguments);
    };
    std::string const told = "fencelock: the lock of \"" + resource +
                             "\" is a lease in PostgreSQL, because Redis at 127.0.0.1:1: ";
    auto const taken = at({"acquire", "-r", resource, "--owner", "me"});
    EXPECT_EQ(taken.code, 0);
    EXPECT_NE(taken.out.find(" me database\n"), std::string::npos);
    EXPECT_EQ(taken.err.rfind(told, 0), 0U) << taken.err;
    auto const token = std::to_string(mark_of(shared_postgres(), resource));
    EXPECT_EQ(run({"release", "-r", resource, "--owner", "me", "--token", token}).code, 0);
    EXPECT_EQ(at({"run", "-r", resource, "--", "true"}).err.rfind(told, 0), 0U);
    // Where Redis answers, and where none was named, there is nothing to tell.
    EXPECT_EQ(run({"run", "-r", resource, "--", "true"}).err, "");
    EXPECT_EQ(run_cli({"run", "-r", resource, "--", "true"}, {environment[1]}).err, "");
}

TEST_F(cli_failures, held_by_others_in_postgresql_says_why_redis_was_not_asked)
{
    ASSERT_EQ(run_cli({"acquire", "-r", resource, "--ttl", "1h"}, {environment[1]}).code, 0);
    auto const outcome = run({"--redis", "redis://127.0.0.1:1", "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 75);
    EXPECT_EQ(outcome.err.rfind("fencelock: the lock of \"" + resource +
                                    "\" is held by others (waited for 0 ms): it was asked for in "
                                    "PostgreSQL, because Redis at 127.0.0.1:1: ",
                                0),
              0U)
        << outcome.err;
}

TEST_F(cli_failures, one_reason_of_two_failures_is_told_once)
{
    // Redis answers, but needs the database for tokens, as the lease in the database does.
    auto const outcome =
        run({"--db", "host=/nonexistent dbname=postgres", "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 69);
    auto const first = outcome.err.find("PostgreSQL: ");
    EXPECT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("PostgreSQL: ", first + 1), std::string::npos) << outcome.err;
}

TEST_F(cli_failures, a_database_without_the_extension_is_named)
{
    shared_postgres().create_database("without");
    auto const outcome = run({"--db", shared_postgres().conninfo("without"), "acquire", "-r", "x"});
    EXPECT_EQ(outcome.code, 70);
    EXPECT_EQ(
        outcome.err,
        "fencelock: the lock of \"x\": the database \"without\" has no extension fencelock: run "
        "CREATE EXTENSION fencelock in it, as a superuser\n");
}

TEST_F(cli_failures, what_postgresql_refuses_names_the_resource_once_and_what_to_do)
{
    auto const conninfo = shared_postgres().conninfo();
    struct refusal {
        std::string db;
        int code;
        std::string remedy;
    };
    for (auto const& [db, code, remedy] :
         {refusal{conninfo + " options='-c default_transaction_read_only=on'", 69,
                  "fencelock doctor tells where"},
          {conninfo + " dbname=nope", 70, "create it, or name another"},
          {conninfo + " user=nobody_knows", 70, "pg_hba.conf"},
          {"host=/nonexistent dbname=postgres", 69, "does a server run there?"}})
        expect_told({"FENCELOCK_DB=" + db}, code, remedy);
    // Asked for tokens by Redis' issuer.
    expect_told({environment[0], "FENCELOCK_DB=" + conninfo + " dbname=nope"}, 70, "create it",
                {"acquire"});
}

TEST_F(cli_failures, what_redis_refuses_names_the_resource_once_and_what_to_do)
{
    test_support::redis_server locked{{.password = "secret"}};
    auto const path = locked.socket_path().string();
    expect_told({"FENCELOCK_REDIS=unix://" + path, environment[1]}, 70, "it wants a password");
    expect_told({"FENCELOCK_REDIS=unix://:wrong@" + path, environment[1]}, 70,
                "correct the user and the password");
    expect_told({"FENCELOCK_REDIS=unix:///nonexistent", "FENCELOCK_KEYS=plain"}, 69,
                "does a server run there?");
    test_support::redis_server full;
    full.command({"CONFIG", "SET", "maxmemory", "1"});
    expect_told({"FENCELOCK_REDIS=" + full.socket_url(), "FENCELOCK_KEYS=plain"}, 69,
                "raise its maxmemory", {"acquire"});
}

TEST_F(cli_failures, a_key_with_a_value_of_another_kind_is_named_with_what_to_do)
{
    test_support::redis_server server;
    auto const run_there = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"--redis", server.socket_url()});
        return run(words);
    };
    auto const expect_named = [&](std::vector<std::string> const& words, std::string const& key,
                                  std::string const& remedy) {
        auto const outcome = run_there(words);
        EXPECT_EQ(outcome.code, 70) << outcome.err;
        EXPECT_NE(outcome.err.find("the key " + key + " is no"), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.err.find(remedy), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.err.find("script"), std::string::npos) << outcome.err;
    };
    std::vector<std::string> const acquire_it{"acquire", "-r", resource};
    std::vector<std::string> const release_it{"release", "-r",      resource, "--owner",
                                              "me",      "--token", "1"};
    server.command({"SET", state_key(resource), "no hash"});
    expect_named(acquire_it, state_key(resource), "DEL it, which is safe for the tokens");
    server.command({"DEL", state_key(resource)});
    ASSERT_EQ(run_there({"acquire", "-r", resource, "--owner", "me"}).code, 0); // as was said
    server.command({"DEL", lock_key(resource)});
    server.command({"HSET", state_key(resource), "last", "x"});
    expect_named(acquire_it, state_key(resource), "DEL it, which is safe for the tokens");
    server.command({"LPUSH", lock_key(resource), "no lock"});
    expect_named(acquire_it, lock_key(resource), "DEL it");
    expect_named(release_it, lock_key(resource), "DEL it");
    server.command({"LPUSH", "fence:" + resource, "no counter"});
    expect_named({"--keys", "plain", "acquire", "-r", resource}, "fence:" + resource,
                 "SET it to the highest token");
}

TEST_F(cli_failures, a_password_is_never_printed)
{
    auto const outcome = run({"--redis", "redis://:hunter2@127.0.0.1:1", "--db",
                              "host=/nonexistent password=hunter3", "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 69);
    EXPECT_EQ((outcome.out + outcome.err).find("hunter"), std::string::npos);
}

} // namespace
} // namespace fencelock::test
