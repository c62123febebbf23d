// The command line with several servers.
#include "cli_program.hpp"
#include "redlock_fixture.hpp"

namespace fencelock::test {
namespace {

class cli_redlock : public redlock_fixture {
  protected:
    explicit cli_redlock(test_support::redis_options const& options = {}) : redlock_fixture{options}
    {
    }

    std::string all_urls()
    {
        return server(0).socket_url() + " " + server(1).socket_url() + "  " + server(2).url();
    }

    cli_outcome run(std::vector<std::string> const& arguments)
    {
        return run_cli(arguments, {"FENCELOCK_REDIS=" + all_urls(),
                                   "FENCELOCK_DB=" + shared_postgres().conninfo()});
    }

    printed_grant acquire(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), {"acquire", "-r", resource, "--wait", "120s"});
        auto const outcome = run(arguments);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return grant_in(outcome);
    }
};

TEST_F(cli_redlock, a_lock_is_acquired_renewed_and_released)
{
    auto const held = acquire({"--ttl", "1h"});
    EXPECT_EQ(held.issuer, "redlock");
    EXPECT_EQ(run({"acquire", "-r", resource}).code, 75);
    std::vector<std::string> const of_it{"-r",       resource,  "--owner",
                                         held.owner, "--token", held.token};
    auto const with = [&](std::string const& command) {
        auto words = of_it;
        words.insert(words.begin(), command);
        return run(words).code;
    };
    EXPECT_EQ(with("renew"), 0);
    EXPECT_EQ(with("release"), 0);
    EXPECT_EQ(with("renew"), 76);
    EXPECT_EQ(with("release"), 76);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(cli_redlock, options_and_the_variable_mean_the_same)
{
    auto const held = acquire({"--ttl", "1h"});
    EXPECT_EQ(run_cli({"--redis", server(0).socket_url(), "--redis", server(1).url(),
                       "--redis=" + server(2).url(), "--db", shared_postgres().conninfo(),
                       "release", "-r", resource, "--owner", held.owner, "--token", held.token},
                      {"FENCELOCK_REDIS=redis://nowhere.invalid redis://nowhere.invalid:7000"})
                  .code,
              0);
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(cli_redlock, a_program_runs_under_a_lock_and_nothing_is_left_after_it)
{
    auto const outcome =
        run({"run", "-r", resource, "--wait", "120s", "--", "sh", "-c", "echo $FENCELOCK_TOKEN"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, std::to_string(issued(resource)) + "\n");
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(cli_redlock, one_that_is_turned_away_leaves_nothing)
{
    take_for_others(0);
    take_for_others(1);
    EXPECT_EQ(run({"acquire", "-r", resource}).code, 75);
    EXPECT_TRUE(wait_until([&] { return !kept(2); }));
}

TEST_F(cli_redlock, a_key_with_a_value_of_another_kind_is_named_for_each_server)
{
    server(0).command({"LPUSH", lock_key(resource), "no lock"});
    server(1).command({"LPUSH", lock_key(resource), "no lock"});
    auto const outcome = run({"acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 70);
    auto const said = ": the key " + lock_key(resource) + " is no lock";
    auto const first = outcome.err.find(said);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(said, first + 1), std::string::npos) << outcome.err;
}

// A renewal of a minority leaves the lease as it was: nothing has happened. Where one server has
// let go, the other two may not have had the lock: nobody knows. With all of them away, nothing was
// done.
TEST_F(cli_redlock, too_few_servers_are_69_but_a_release_that_one_has_heard_is_70)
{
    printed_grant held;
    ASSERT_TRUE(wait_until([&] { // one that is slow by chance is left out
        held = acquire({"--ttl", "1h"});
        bool everywhere = true;
        for (std::size_t i : {0, 1, 2})
            everywhere = everywhere && kept(i).value_or("").starts_with(held.token + ':');
        if (!everywhere)
            run({"release", "-r", resource, "--owner", held.owner, "--token", held.token});
        return everywhere;
    }));
    auto const outcome_of = [&](std::string const& command) {
        return run_cli({command, "-r", resource, "--owner", held.owner, "--token", held.token},
                       {"FENCELOCK_REDIS=" + urls()[0] + " " + urls()[1] + " " + urls()[2],
                        "FENCELOCK_DB=" + shared_postgres().conninfo()});
    };
    for (auto& one : servers)
        one->proxy.refuse();
    EXPECT_EQ(outcome_of("release").code, 69);
    proxy(2).accept_again();
    EXPECT_EQ(outcome_of("renew").code, 69);
    auto const released = outcome_of("release");
    EXPECT_EQ(released.code, 70);
    EXPECT_NE(released.err.find("whether the lock of \"" + resource + "\" has ended is not known"),
              std::string::npos)
        << released.err;
    EXPECT_TRUE(wait_until([&] { return !kept(2); }));
    proxy(0).accept_again();
    proxy(1).accept_again();
    EXPECT_EQ(outcome_of("release").code, 0); // two had it still
    EXPECT_TRUE(nothing_is_left());
}

// Without a fallback, whose own lease of 1 ms may be over before anybody hears of it.
TEST_F(cli_redlock, a_ttl_that_leaves_servers_no_time_to_answer_is_named_as_the_cause)
{
    redlock_locks group{urls()};
    client locks{group, shared_postgres().conninfo(), {.fall_back = false}};
    server(0).pause();
    server(1).pause();
    std::string told;
    try {
        locks.acquire(resource, {.ttl = 1ms});
    } catch (issuer_unavailable const& e) {
        told = e.what();
    }
    server(0).resume();
    server(1).resume();
    EXPECT_NE(told.find("a TTL of 1 ms leaves each of them 1 ms to answer"), std::string::npos)
        << told;
}

TEST_F(cli_redlock, bad_lists_of_servers_are_wrong_usage)
{
    auto const url = server(0).url();
    for (std::string const command : {"show", "doctor", "acquire"}) {
        std::vector<std::string> const rest{"--db", shared_postgres().conninfo(), command};
        auto const code_with = [&](std::vector<std::string> words) {
            words.insert(words.end(), rest.begin(), rest.end());
            if (command == "acquire")
                words.insert(words.end(), {"-r", resource});
            return run_cli(words).code;
        };
        EXPECT_EQ(code_with({"--redis", url, "--redis", url}), 64) << command;
        EXPECT_EQ(code_with({"--redis", url, "--redis", "redis+cluster://h"}), 64) << command;
        EXPECT_EQ(code_with({"--redis", url, "--redis", server(1).url(), "--keys", "plain"}), 64);
    }
    EXPECT_EQ(run_cli({"--redis", url, "--redis", server(1).url(), "acquire", "-r", resource}).code,
              69);
}

TEST_F(cli_redlock, show_tells_what_a_majority_and_what_each_server_keeps)
{
    EXPECT_NE(run({"show", "-r", resource}).out.find("redlock   not held by a majority"),
              std::string::npos);
    auto const held = acquire({"--ttl", "1h"});
    take_for_others(2);
    auto const shown = run({"show", "-r", resource});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(
        shown.out.find("redlock   held by " + held.owner + " with token " + held.token + ", "),
        std::string::npos)
        << shown.out;
    EXPECT_NE(shown.out.find(": held by somebody with token 7, "), std::string::npos) << shown.out;

    auto const json = run({"--json", "show"}).out;
    EXPECT_EQ(json.rfind("{\"resource\": \"" + resource +
                             "\", \"redlock\": {\"held\": true, \"owner\": \"" + held.owner +
                             "\", \"token\": " + held.token + ", \"ttl_ms\": ",
                         0),
              0U)
        << json;
    EXPECT_NE(json.find("\"servers\": [{\"server\": "), std::string::npos) << json;

    server(2).kill9();
    auto const without = run({"show", "-r", resource});
    EXPECT_EQ(without.code, 69);
    EXPECT_NE(without.out.find("held by " + held.owner), std::string::npos) << without.out;
}

class cli_redlock_doctor : public cli_redlock {
  protected:
    cli_redlock_doctor() : cli_redlock{{.persistent = true}} {}

    static bool tells(cli_outcome const& outcome, std::string const& words)
    {
        return outcome.out.find(words) != std::string::npos;
    }
};

TEST_F(cli_redlock_doctor, each_server_is_looked_at)
{
    auto const look = [this] { return run_cli({"doctor"}, {"FENCELOCK_REDIS=" + all_urls()}); };
    auto const healthy = look();
    EXPECT_EQ(healthy.code, 0) << healthy.out << healthy.err;
    EXPECT_EQ(server(2).command({"DBSIZE"}), "0");

    server(1).command({"CONFIG", "SET", "appendonly", "no"});
    auto const forgetful = look();
    EXPECT_EQ(forgetful.code, 1);
    EXPECT_TRUE(tells(forgetful, "Redis at " + server(1).socket_path().string() +
                                     ": there is no append-only file"))
        << forgetful.out;

    server(0).kill9();
    auto const away = look();
    EXPECT_EQ(away.code, 1);
    EXPECT_TRUE(
        tells(away, "Redis at " + server(0).socket_path().string() + ": it does not answer"))
        << away.out;

    server(2).kill9();
    EXPECT_EQ(look().code, 69);
}

TEST_F(cli_redlock_doctor, a_server_under_two_names_is_found)
{
    auto const outcome = run_cli({"--redis", server(0).socket_url(), "--redis", server(0).url(),
                                  "--redis", server(1).url(), "doctor"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(tells(outcome, "is the same server as Redis at")) << outcome.out;
}

TEST_F(cli_redlock_doctor, who_cannot_get_a_lock_of_a_server_under_two_names_is_sent_to_it)
{
    auto const outcome = run_cli({"--redis", server(0).socket_url(), "--redis", server(0).url(),
                                  "--db", shared_postgres().conninfo(), "acquire", "-r", resource});
    EXPECT_EQ(outcome.code, 0); // in PostgreSQL
    EXPECT_NE(outcome.err.find("listed under two names, as fencelock doctor would tell"),
              std::string::npos)
        << outcome.err;
}

TEST_F(cli_redlock_doctor, an_even_number_is_found)
{
    auto const outcome =
        run_cli({"--redis", server(0).socket_url(), "--redis", server(1).socket_url(), "doctor"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(tells(outcome, "2 servers survive the loss of no more")) << outcome.out;
}

} // namespace
} // namespace fencelock::test
