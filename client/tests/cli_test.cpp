// acquire, renew, release: what they print, and their exit codes.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

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

} // namespace
} // namespace fencelock::test
