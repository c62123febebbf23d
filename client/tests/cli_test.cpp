// acquire, renew, release: what they print, and their exit codes.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <thread>

namespace fencelock::test {
namespace {

class cli : public cli_fixture {
  protected:
    // A busy machine may get a lease in PostgreSQL while Redis is too slow to say so.
    bool is_held_by_others(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), {"acquire", "-r", resource});
        return wait_until([&] { return run(arguments).code == 75; });
    }
};

TEST_F(cli, help_and_version_need_no_server)
{
    for (auto const& arguments :
         {std::vector<std::string>{"--help"}, std::vector<std::string>{"run", "--help"},
          std::vector<std::string>{"acquire", "-h"}, std::vector<std::string>{"renew", "--help"},
          std::vector<std::string>{"release", "--help"}, std::vector<std::string>{"show", "--help"},
          std::vector<std::string>{"doctor", "--help"}}) {
        auto const outcome = run_cli(arguments);
        EXPECT_EQ(outcome.code, 0);
        EXPECT_EQ(outcome.out.rfind("Usage: fencelock", 0), 0U);
        if (arguments.size() == 2) {
            EXPECT_NE(outcome.out.find("] " + arguments[0]), std::string::npos);
        }
    }
    EXPECT_EQ(run_cli({"--version"}).out, std::string{"fencelock "} + version() + "\n");
}

TEST_F(cli, help_and_version_do_not_look_at_the_environment)
{
    std::vector<std::string> const odd{"FENCELOCK_KEYS=odd", "FENCELOCK_REDIS=nonsense",
                                       "FENCELOCK_DB=nonsense", "PGOPTIONS=nonsense"};
    for (auto const& arguments :
         {std::vector<std::string>{"--help"}, {"run", "--help"}, {"-V"}, {"--version", "show"}})
        EXPECT_EQ(run_cli(arguments, odd).code, 0) << ::testing::PrintToString(arguments);
    EXPECT_EQ(run_cli({"show"}, odd).code, 64);
}

// Both count a year as 365.25 days.
TEST_F(cli, a_ttl_is_at_most_a_year_in_redis_and_in_postgresql)
{
    for (auto const& where : {environment, {environment[1]}}) {
        auto const code = [&](std::string const& ttl) {
            auto const outcome = run_cli({"acquire", "-r", resource, "--ttl", ttl}, where);
            if (outcome.code != 0)
                return outcome.code;
            auto const held = grant_in(outcome);
            return run_cli(
                       {"release", "-r", resource, "--owner", held.owner, "--token", held.token},
                       where)
                .code;
        };
        EXPECT_EQ(code("8766h"), 0);
        EXPECT_EQ(code("31557600001ms"), 64);
    }
    EXPECT_THROW(shared_postgres().query("SELECT \"Fence it\".fence_acquire('" + resource +
                                         "', 'me', '31557600001 ms')"),
                 std::runtime_error);
}

TEST_F(cli, wrong_usage_is_64)
{
    EXPECT_EQ(run({"acquire"}).code, 64);
    EXPECT_EQ(run({"nonsense"}).code, 64);
    EXPECT_EQ(run({"acquire", "-r", resource, "--ttl", "30"}).code, 64);
    EXPECT_EQ(run({"acquire", "-r", resource, "--ttl", "366d"}).code, 64);
    EXPECT_EQ(run({"acquire", "-r", std::string(1025, 'x')}).code, 64);
    EXPECT_EQ(run({"show", "-r", "\xFF"}).code, 64);
    EXPECT_EQ(run({"--redis", "http://x", "acquire", "-r", resource}).code, 64);
    EXPECT_EQ(run_cli({"show"}, {"FENCELOCK_DB=x", "FENCELOCK_KEYS=odd"}).code, 64);
}

TEST_F(cli, an_option_with_a_value_is_not_given_twice)
{
    for (std::vector<std::string> const& twice : {std::vector<std::string>{"-r", "other"},
                                                  {"--resource=other"},
                                                  {"--ttl", "1s", "--ttl", "2s"},
                                                  {"--owner", "a", "--owner", "b"},
                                                  {"--db", "x", "--db", "y"},
                                                  {"--keys", "tagged", "--keys", "tagged"}}) {
        std::vector<std::string> words{"acquire", "-r", resource};
        words.insert(words.end(), twice.begin(), twice.end());
        auto const outcome = run(words);
        EXPECT_EQ(outcome.code, 64);
        EXPECT_NE(outcome.err.find(" is given twice"), std::string::npos) << outcome.err;
    }
    // What says nothing else the second time.
    EXPECT_EQ(run({"--json", "acquire", "--json", "-r", resource}).code, 0);
}

TEST_F(cli, acquire_leaves_the_lease_and_release_ends_it)
{
    auto const first = acquire({"--ttl", "60s"});
    EXPECT_EQ(first.resource, resource);
    EXPECT_EQ(first.issuer, "redis");
    EXPECT_EQ(shared_redis().command({"GET", lock_key(resource)}), first.token + ":" + first.owner);
    EXPECT_EQ(mark_of(shared_postgres(), resource), std::stoll(first.token)); // confirmed

    auto const busy = run({"acquire", "-r", resource});
    EXPECT_EQ(busy.code, 75);
    EXPECT_EQ(busy.out, "");

    std::vector<std::string> const mine{"-r",        resource,  "--owner",
                                        first.owner, "--token", first.token};
    std::vector<std::string> const others{"-r",    resource,  "--owner",
                                          "other", "--token", first.token};
    auto const with = [](std::string const& command, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), command);
        return arguments;
    };
    EXPECT_EQ(run(with("renew", others)).code, 76);
    EXPECT_EQ(run(with("release", others)).code, 76);
    auto longer = with("renew", mine);
    longer.insert(longer.end(), {"--ttl", "10m"});
    EXPECT_EQ(run(longer).code, 0);
    EXPECT_GT(std::stoll(*shared_redis().command({"PTTL", lock_key(resource)})), 60'000);
    EXPECT_EQ(run(with("release", mine)).code, 0);
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    EXPECT_EQ(run(with("release", mine)).code, 76);
    EXPECT_EQ(run(with("renew", mine)).code, 76);
    EXPECT_GT(std::stoll(acquire().token), std::stoll(first.token));
}

TEST_F(cli, an_owner_of_ones_own_gets_the_same_lease_again)
{
    auto const first = acquire({"--owner", "job-7"});
    EXPECT_EQ(first.owner, "job-7");
    EXPECT_EQ(acquire({"--owner", "job-7"}).token, first.token);
    EXPECT_TRUE(is_held_by_others({"--owner", "job-8"}));
}

TEST_F(cli, json_has_the_same_words_and_the_ttl)
{
    auto const outcome =
        run({"--json", "acquire", "-r", resource, "--owner", "a \"b\"", "--ttl", "5m"});
    auto const token = std::to_string(mark_of(shared_postgres(), resource));
    EXPECT_EQ(outcome.out, "{\"resource\": \"" + resource + "\", \"token\": " + token +
                               R"(, "owner": "a \"b\"", "issuer": "redis", "ttl_ms": 300000})" +
                               "\n");
}

TEST_F(cli, acquire_waits_as_long_as_it_is_told)
{
    auto const held = acquire({"--ttl", "1h"});
    EXPECT_EQ(run({"acquire", "-r", resource, "--wait", "100ms"}).code, 75);
    cli_program waiting{{"acquire", "-r", resource, "--wait", "5m"}, environment};
    EXPECT_EQ(run({"release", "-r", resource, "--owner", held.owner, "--token", held.token}).code,
              0);
    EXPECT_EQ(waiting.wait().code, 0);
}

TEST_F(cli, without_redis_leases_are_kept_in_postgresql)
{
    std::vector<std::string> const database_only{"FENCELOCK_DB=" + shared_postgres().conninfo()};
    auto const outcome = run_cli({"acquire", "-r", resource, "--owner", "me"}, database_only);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(" me database\n"), std::string::npos);
    EXPECT_EQ(run_cli({"acquire", "-r", resource}, database_only).code, 75);
    auto const token = std::to_string(mark_of(shared_postgres(), resource));
    EXPECT_EQ(
        run_cli({"renew", "-r", resource, "--owner", "me", "--token", token}, database_only).code,
        0);
    // Redis knows nothing of it, but the database does.
    EXPECT_EQ(run({"release", "-r", resource, "--owner", "me", "--token", token}).code, 0);
}

TEST_F(cli, where_no_issuer_can_be_reached_it_is_69)
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
TEST_F(cli, a_connection_that_the_database_refuses_for_good_is_70_and_says_why)
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

TEST_F(cli, a_connection_that_the_database_refuses_for_now_is_69)
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

TEST_F(cli, a_fallback_to_postgresql_is_told_with_its_reason)
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

TEST_F(cli, held_by_others_in_postgresql_says_why_redis_was_not_asked)
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

TEST_F(cli, one_reason_of_two_failures_is_told_once)
{
    // Redis answers, but needs the database for tokens, as the lease in the database does.
    auto const outcome =
        run({"--db", "host=/nonexistent dbname=postgres", "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 69);
    auto const first = outcome.err.find("PostgreSQL: ");
    EXPECT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("PostgreSQL: ", first + 1), std::string::npos) << outcome.err;
}

TEST_F(cli, a_database_without_the_extension_is_named)
{
    shared_postgres().create_database("without");
    auto const outcome = run({"--db", shared_postgres().conninfo("without"), "acquire", "-r", "x"});
    EXPECT_EQ(outcome.code, 70);
    EXPECT_EQ(
        outcome.err,
        "fencelock: the database \"without\" has no extension fencelock: run CREATE EXTENSION "
        "fencelock in it, as a superuser\n");
}

TEST_F(cli, a_refused_confirmation_is_77_and_leaves_no_lock)
{
    // The database issues tokens of this resource by itself: what Redis counts beyond them was
    // never issued, and the last one issued has an owner.
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource +
                            "', \"Fence it\".fence_issue('" + resource + "'), 'somebody')");
    auto const refused = run({"--keys", "plain", "acquire", "-r", resource});
    EXPECT_EQ(refused.code, 77);
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(run({"--keys", "plain", "run", "-r", resource, "--", "true"}).code, 77);
    EXPECT_FALSE(shared_redis().command({"GET", "lock:" + resource}));
    EXPECT_EQ(run({"--keys", "plain", "acquire", "-r", resource, "--no-confirm"}).code, 0);
}

// Whoever confirms has to connect to the database first, which takes longer.
TEST_F(cli, a_ttl_that_is_over_before_the_lock_is_confirmed_is_76)
{
    auto const outcome = run({"--keys", "plain", "acquire", "-r", resource, "--ttl", "1ms"});
    EXPECT_EQ(outcome.code, 76);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("its TTL of 1 ms "), std::string::npos) << outcome.err;
}

TEST_F(cli, an_acquire_that_a_signal_ends_leaves_no_lease)
{
    // The confirmation waits for an older token's transaction.
    auto const older = acquire();
    EXPECT_EQ(run({"release", "-r", resource, "--owner", older.owner, "--token", older.token}).code,
              0);
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work tx{connection};
    tx.exec("SELECT \"Fence it\".fence_check('" + resource + "', " + older.token + ")");
    for (int const signal : {SIGTERM, SIGINT, SIGHUP}) {
        cli_program waiting{{"acquire", "-r", resource}, environment};
        EXPECT_TRUE(wait_until([&] {
            return shared_redis().command({"GET", lock_key(resource)}).has_value();
        }));
        waiting.send(signal);
        auto const outcome = waiting.wait();
        EXPECT_EQ(outcome.code, 128 + signal);
        EXPECT_EQ(outcome.out, "");
        EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    }
}

// Into a pipe that nobody reads.
TEST_F(cli, an_acquire_that_nobody_hears_of_leaves_no_lease)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);
    std::vector<std::string> words{FENCELOCK_PROGRAM,
                                   "--redis",
                                   shared_redis().socket_url(),
                                   "--db",
                                   shared_postgres().conninfo(),
                                   "acquire",
                                   "-r",
                                   resource};
    std::vector<char*> argv;
    for (auto& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 70);
    EXPECT_TRUE(shared_redis().command({"EXISTS", state_key(resource)}) == "1"); // it was granted
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
}

TEST_F(cli, plain_keys_need_no_database)
{
    std::vector<std::string> const plain{"FENCELOCK_REDIS=" + shared_redis().socket_url(),
                                         "FENCELOCK_KEYS=plain"};
    EXPECT_EQ(run_cli({"acquire", "-r", resource, "--owner", "me"}, plain).out,
              resource + " 1 me redis\n");
    auto const shown = run_cli({"show", "-r", resource}, plain);
    EXPECT_NE(shown.out.find("held by me with token 1"), std::string::npos);
    EXPECT_EQ(run_cli({"release", "-r", resource, "--owner", "me", "--token", "1"}, plain).code, 0);
}

TEST_F(cli, a_password_is_never_printed)
{
    auto const outcome = run({"--redis", "redis://:hunter2@127.0.0.1:1", "--db",
                              "host=/nonexistent password=hunter3", "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 69);
    EXPECT_EQ((outcome.out + outcome.err).find("hunter"), std::string::npos);
}

// What bash offers for the last word of a line.
std::string completions(std::string const& line)
{
    test_support::temporary_directory directory{"fencelock-complete"};
    auto const output = directory.path() / "out";
    test_support::child_process bash{
        {.argv = {"/bin/bash", "-c",
                  "source \"$1\"; COMP_WORDS=($2); [[ $2 != *' ' ]] || COMP_WORDS+=(''); "
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fencelock; echo \"${COMPREPLY[*]}\"",
                  "bash", COMPLETION_FILE, line},
         .output = output}};
    EXPECT_EQ(bash.wait(test_support::generous_limit), 0);
    std::ifstream file{output};
    std::string words;
    std::getline(file, words);
    return words;
}

TEST_F(cli, bash_completes_commands_options_and_presets)
{
    EXPECT_EQ(completions("fencelock r"), "run renew release");
    EXPECT_EQ(completions("fencelock --db x a"), "acquire");
    EXPECT_EQ(completions("fencelock release --to"), "--token");
    EXPECT_EQ(completions("fencelock acquire --to"), "");
    EXPECT_EQ(completions("fencelock --keys "), "tagged plain");
    EXPECT_EQ(completions("fencelock run -r "), "");
}

} // namespace
} // namespace fencelock::test
