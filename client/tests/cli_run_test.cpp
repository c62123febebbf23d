// fencelock run: a program under a lock.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace fencelock::test {
namespace {

// "told" once it is asked to end.
constexpr char const* obedient =
    "trap 'echo told; exit 3' TERM; trap 'echo heard' USR1; echo ready; "
    "while :; do sleep 0.05; done";

void touch(std::filesystem::path const& path)
{
    std::ofstream const file{path};
}

class cli_run : public cli_fixture {
  protected:
    std::string const conninfo = shared_postgres().conninfo();

    std::vector<std::string> under(std::vector<std::string> const& program,
                                   std::string const& ttl = "30s")
    {
        std::vector<std::string> arguments{"run", "-r", resource, "--ttl", ttl, "--"};
        arguments.insert(arguments.end(), program.begin(), program.end());
        return arguments;
    }

    cli_outcome run_under(std::vector<std::string> const& program)
    {
        return run_cli(under(program), environment);
    }

    bool is_free() { return !shared_redis().command({"GET", lock_key(resource)}); }

    std::vector<std::string> psql(std::string const& sql)
    {
        return {(test_support::postgres_server::bin_directory() / "psql").string(),
                "-XAtq",
                "-v",
                "ON_ERROR_STOP=1",
                "-d",
                conninfo,
                "-c",
                sql};
    }
};

TEST_F(cli_run, the_program_is_told_the_lock_and_its_exit_code_is_passed_on)
{
    auto const outcome = run_under(
        {"sh", "-c", "echo \"$FENCELOCK_RESOURCE $FENCELOCK_TOKEN $FENCELOCK_OWNER\"; exit 7"});
    EXPECT_EQ(outcome.code, 7) << outcome.err;
    auto const token = std::to_string(mark_of(shared_postgres(), resource)); // it was confirmed
    EXPECT_EQ(outcome.out.rfind(resource + " " + token + " ", 0), 0U) << outcome.out;
    EXPECT_TRUE(is_free());
}

TEST_F(cli_run, a_program_that_a_signal_ended_is_128_and_the_signal)
{
    EXPECT_EQ(run_under({"sh", "-c", "kill -KILL $$"}).code, 137);
    EXPECT_TRUE(is_free());
}

TEST_F(cli_run, a_program_that_cannot_be_started_leaves_no_lock)
{
    EXPECT_EQ(run_under({"/nonexistent/program"}).code, 127);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(run_under({"/dev/null"}).code, 126);
    EXPECT_TRUE(is_free());
}

TEST_F(cli_run, a_lock_that_others_hold_is_75_and_nothing_is_run)
{
    cli_program holder{under({"sh", "-c", obedient}), environment};
    ASSERT_TRUE(holder.says("ready"));
    auto const outcome = run_under({"echo", "ran"});
    EXPECT_EQ(outcome.code, 75);
    EXPECT_EQ(outcome.out, "");
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait().code, 3);
}

TEST_F(cli_run, psql_passes_a_guard_and_not_without)
{
    shared_postgres().query("DROP TABLE IF EXISTS things");
    shared_postgres().query("CREATE TABLE things (name text PRIMARY KEY, n int)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('things', '{name}')");
    for (std::string const name : {"plain", "with space", "back\\slash", "tab\tand \\ \\\\ end",
                                   "quote\"brace}{", "\xC3\xA4", "line\nbreak"}) {
        resource = name;
        auto const sql = "INSERT INTO things VALUES (convert_from(decode('" + [&] {
            std::string hex;
            for (unsigned char const c : name) {
                hex += "0123456789abcdef"[c >> 4];
                hex += "0123456789abcdef"[c & 15];
            }
            return hex;
        }() + "', 'hex'), 'UTF8'), 1) RETURNING fence_token";
        auto const unfenced =
            test_support::child_process{{.argv = psql(sql), .output = "/dev/null"}}.wait(
                test_support::generous_limit);
        EXPECT_EQ(unfenced, 1) << name; // psql's code for an error of the server
        auto const fenced =
            run_cli(under({"sh", "-c", "\"$@\" && echo $FENCELOCK_TOKEN", "sh", psql(sql)[0],
                           "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", sql}),
                    environment);
        EXPECT_EQ(fenced.code, 0) << name << fenced.err;
        auto const half = fenced.out.size() / 2;
        EXPECT_EQ(fenced.out.substr(0, half), fenced.out.substr(half)) << fenced.out;
    }
}

TEST_F(cli_run, a_run_within_a_run_presents_both_tokens)
{
    shared_postgres().query("DROP TABLE IF EXISTS pairs");
    shared_postgres().query("CREATE TABLE pairs (name text PRIMARY KEY)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('pairs', 'pair {name}')");
    resource = "pair a";
    std::vector<std::string> inner{FENCELOCK_PROGRAM, "run", "-r", "pair b", "--"};
    for (auto const& word : psql("INSERT INTO pairs VALUES ('a'), ('b')"))
        inner.push_back(word);
    auto const outcome = run_under(inner);
    EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    EXPECT_EQ(shared_postgres().query("SELECT count(*) FROM pairs"), "2");
}

// Names for which the settings of every level together would be more than a server takes.
TEST_F(cli_run, runs_within_runs_present_their_tokens_in_one_setting_and_keep_other_options)
{
    auto const foreign = std::string{R"(-c x.y=a\ b --geqo=off)"};
    std::vector<std::string> nested{"sh", "-c", "printf '%s\\n' \"$PGOPTIONS\"; exec \"$@\"", "sh"};
    for (auto const& word :
         psql("SELECT count(*), min(length(key)), current_setting('x.y'), current_setting('geqo') "
              "FROM json_each(current_setting('fencelock.claims')::json)"))
        nested.push_back(word);
    for (int level = 1; level <= 4; ++level) {
        auto const name = new_resource();
        std::vector<std::string> run{"run", "-r", name + std::string(1000 - name.size(), 'x'),
                                     "--"};
        if (level < 4)
            run.insert(run.begin(), FENCELOCK_PROGRAM);
        nested.insert(nested.begin(), run.begin(), run.end());
    }
    auto with_options = environment;
    with_options.push_back("PGOPTIONS=" + foreign);
    auto const outcome = run_cli(nested, with_options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.ends_with("\n4|1000|a b|off\n")) << outcome.out;
    auto const setting = foreign + " -c fencelock.claims=";
    EXPECT_TRUE(outcome.out.starts_with(setting)) << outcome.out;
    EXPECT_EQ(outcome.out.rfind("fencelock.claims="), setting.find("fencelock.claims="));
}

TEST_F(cli_run, more_options_than_a_server_takes_are_64_before_anything_is_locked)
{
    constexpr std::size_t longest = 9500;
    auto const own = " -c fencelock.claims={\"" + resource + "\":\\ 9223372036854775807}";
    std::string const filler = "PGOPTIONS=-c x.y=";
    auto const value =
        std::string(longest + std::string{"PGOPTIONS="}.size() - filler.size() - own.size(), 'x');
    auto just_so = environment;
    just_so.push_back(filler + value);
    auto too_long = environment;
    too_long.push_back(filler + value + 'x');

    auto const served = run_cli(under(psql("SHOW fencelock.claims")), just_so);
    EXPECT_EQ(served.code, 0) << served.err;
    EXPECT_NE(served.out.find(resource), std::string::npos) << served.out;

    auto const mark = mark_of(shared_postgres(), resource);
    auto const refused = run_cli(under({"echo", "ran"}), too_long);
    EXPECT_EQ(refused.code, 64);
    EXPECT_EQ(refused.out, "");
    EXPECT_NE(refused.err.find('"' + resource + "\" is not locked: the PGOPTIONS"),
              std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("would have 9501 bytes"), std::string::npos) << refused.err;
    EXPECT_TRUE(is_free());
    EXPECT_EQ(mark_of(shared_postgres(), resource), mark);
}

TEST_F(cli_run, a_run_within_a_run_that_has_too_many_options_leaves_nothing_locked)
{
    auto const inner = new_resource() + std::string(900, 'x');
    auto with_options = environment;
    with_options.push_back("PGOPTIONS=-c x.y=" + std::string(8600, 'x'));
    auto const outcome =
        run_cli(under({FENCELOCK_PROGRAM, "run", "-r", inner, "--", "echo", "ran"}), with_options);
    EXPECT_EQ(outcome.code, 64);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find('"' + inner + "\" is not locked"), std::string::npos) << outcome.err;
    EXPECT_TRUE(is_free());
    auto const shown = run({"show", "-r", inner});
    EXPECT_NE(shown.out.find("\n  redis     not held\n"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("no mark"), std::string::npos) << shown.out;
}

TEST_F(cli_run, who_is_killed_leaves_a_program_whose_writes_are_fenced)
{
    shared_postgres().query("DROP TABLE IF EXISTS orphans");
    shared_postgres().query("CREATE TABLE orphans (name text PRIMARY KEY, n int)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('orphans', 'orphan:{name}')");
    shared_postgres().query("SELECT \"Fence it\".fence_check('orphan:a', 1)");
    shared_postgres().query("INSERT INTO orphans VALUES ('a', 0, 1)");
    resource = "orphan:a";
    test_support::temporary_directory const signs{"fencelock-orphan"};

    auto program = psql("UPDATE orphans SET n = n + 1 RETURNING 'n is ' || n");
    program.insert(program.begin(),
                   {"sh", "-c",
                    "directory=$0; await() { until [ -e \"$directory/$1\" ]; do "
                    "[ -d \"$directory\" ] || exit 1; sleep 0.05; done; }; "
                    "echo ready; await early; \"$@\" 2>&1; await late; \"$@\" 2>&1",
                    signs.path().string()});
    cli_program killed{under(program), environment};
    ASSERT_TRUE(killed.says("ready"));
    killed.send(SIGKILL);
    killed.wait();
    touch(signs.path() / "early");
    EXPECT_TRUE(killed.says("n is 1")); // nobody newer was here

    shared_redis().command({"DEL", lock_key(resource)}); // as its TTL does
    auto const next = run_under(psql("UPDATE orphans SET n = 10"));
    ASSERT_EQ(next.code, 0) << next.err;
    touch(signs.path() / "late");
    EXPECT_TRUE(killed.says("is stale"));
    EXPECT_EQ(shared_postgres().query("SELECT n FROM orphans"), "10");
}

TEST_F(cli_run, signals_are_passed_on)
{
    cli_program program{under({"sh", "-c", obedient}), environment};
    ASSERT_TRUE(program.says("ready"));
    program.send(SIGUSR1);
    EXPECT_TRUE(program.says("heard"));
    program.send(SIGTERM);
    auto const outcome = program.wait();
    EXPECT_NE(outcome.out.find("told"), std::string::npos);
    EXPECT_EQ(outcome.code, 3);
    EXPECT_TRUE(is_free());
}

TEST_F(cli_run, the_lock_is_renewed_while_the_program_runs)
{
    cli_program program{under({"sh", "-c", obedient}, "6s"), environment};
    ASSERT_TRUE(program.says("ready"));
    auto const renewals = [] {
        auto const stats = shared_redis().command({"INFO", "commandstats"}).value();
        auto const at = stats.find("cmdstat_pexpire:calls=");
        return at == std::string::npos ? 0 : std::stoll(stats.substr(at + 22));
    };
    auto const before = renewals();
    EXPECT_TRUE(wait_until([&] { return renewals() >= before + 2; }));
    EXPECT_FALSE(is_free());
    program.send(SIGTERM);
    EXPECT_EQ(program.wait().code, 3);
}

TEST_F(cli_run, where_the_lock_is_lost_the_program_is_asked_to_end)
{
    cli_program program{under({"sh", "-c", obedient}, "6s"), environment};
    ASSERT_TRUE(program.says("ready"));
    shared_redis().command({"DEL", lock_key(resource)});
    auto const outcome = program.wait();
    EXPECT_EQ(outcome.code, 76);
    EXPECT_NE(outcome.out.find("told"), std::string::npos);
    EXPECT_NE(outcome.err.find("is over"), std::string::npos);
}

TEST_F(cli_run, who_does_not_end_when_the_lock_is_lost_is_killed_with_its_children)
{
    cli_program program{under({"sh", "-c",
                               "trap '' TERM; sleep 1000 & echo \"child=$!.\"; echo ready; "
                               "while :; do sleep 0.05; done"},
                              "6s"),
                        environment};
    ASSERT_TRUE(program.says("ready"));
    shared_redis().command({"DEL", lock_key(resource)});
    auto const outcome = program.wait();
    EXPECT_EQ(outcome.code, 76);
    auto const child = std::stoi(outcome.out.substr(outcome.out.find('=') + 1));
    EXPECT_TRUE(wait_until([&] { return ::kill(child, 0) != 0; })); // init has collected it
}

TEST_F(cli_run, a_lock_that_was_gone_when_the_program_ended_is_76)
{
    std::vector<std::string> const program{"redis-cli", "-s", shared_redis().socket_path().string(),
                                           "DEL", lock_key(resource)};
    auto argv = program;
    argv[0] = test_support::find_program("redis-cli")
                  .value_or(test_support::find_program("valkey-cli").value_or("redis-cli"))
                  .string();
    EXPECT_EQ(run_under(argv).code, 76);
}

TEST_F(cli_run, a_wait_for_the_lock_can_be_interrupted)
{
    cli_program holder{under({"sh", "-c", obedient}), environment};
    ASSERT_TRUE(holder.says("ready"));
    cli_program waiting{{"run", "-r", resource, "--wait", "1h", "--", "echo", "ran"}, environment};
    EXPECT_TRUE(wait_until([] {
        auto const clients = shared_redis().command({"INFO", "clients"}).value();
        return clients.find("blocked_clients:0") == std::string::npos;
    }));
    waiting.send(SIGINT);
    auto const outcome = waiting.wait();
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.out, "");
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait().code, 3);
}

TEST_F(cli_run, the_program_has_the_terminal)
{
    int terminal = -1;
    auto const words = under({"sh", "-c", "read line; echo \"got <$line>\""});
    auto const pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        for (auto const& entry : environment)
            ::putenv(const_cast<char*>(entry.c_str()));
        std::vector<char*> argv{const_cast<char*>(FENCELOCK_PROGRAM)};
        for (auto const& word : words)
            argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        ::execv(FENCELOCK_PROGRAM, argv.data());
        ::_exit(127);
    }
    ASSERT_EQ(::write(terminal, "hello\n", 6), 6);
    std::string said;
    std::array<char, 256> bytes;
    for (ssize_t n; (n = ::read(terminal, bytes.data(), bytes.size())) > 0;)
        said.append(bytes.data(), static_cast<std::size_t>(n));
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    ::close(terminal);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_NE(said.find("got <hello>"), std::string::npos) << said;
}

} // namespace
} // namespace fencelock::test
