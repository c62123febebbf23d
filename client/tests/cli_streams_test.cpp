// Standard streams that are closed, or that take nothing.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

namespace fencelock::test {
namespace {

class cli_streams : public cli_fixture {
  protected:
    std::string const closed = ": Bad file descriptor";
    std::string const full = ": No space left on device";

    // 70, and a word about it.
    static void expect_not_written(std::vector<std::string> const& words,
                                   std::vector<std::string> const& environment,
                                   std::string const& redirection, std::string const& why)
    {
        auto const outcome = run_cli(words, environment, redirection);
        EXPECT_EQ(outcome.code, 70) << ::testing::PrintToString(words);
        EXPECT_EQ(outcome.err.rfind("fencelock: cannot write to standard output" + why, 0), 0U)
            << ::testing::PrintToString(words) << outcome.err;
    }

    bool is_held() const { return shared_redis().command({"GET", lock_key(resource)}).has_value(); }
};

TEST_F(cli_streams, output_that_cannot_be_written_is_70_and_said)
{
    for (auto const& [redirection, why] : {std::pair{">&-", closed}, {">/dev/full", full}}) {
        for (auto const& words :
             {std::vector<std::string>{"--help"}, {"acquire", "--help"}, {"-V"}})
            expect_not_written(words, {}, redirection, why);
        expect_not_written({"acquire", "-r", resource}, environment, redirection,
                           why + "; the lock was released\n");
        EXPECT_FALSE(is_held());
        expect_not_written({"show", "-r", resource}, environment, redirection, why + '\n');
        // Plain keys are one of its findings.
        expect_not_written({"--keys", "plain", "doctor"}, environment, redirection, why + '\n');
    }
}

TEST_F(cli_streams, json_of_renew_and_release_that_cannot_be_written_is_70_and_said)
{
    auto const taken = acquire();
    for (std::string const command : {"renew", "release"})
        expect_not_written(
            {"--json", command, "-r", resource, "--owner", taken.owner, "--token", taken.token},
            environment, ">&-", closed);
    EXPECT_FALSE(is_held()); // but done
}

// Its output line would be a command there, and this one would delete the lock of another resource.
TEST_F(cli_streams, with_a_closed_stdout_nothing_is_written_into_the_connection_to_redis)
{
    std::vector<std::string> const plain{"FENCELOCK_REDIS=" + shared_redis().socket_url(),
                                         "FENCELOCK_KEYS=plain"};
    ASSERT_EQ(run_cli({"acquire", "-r", resource, "--owner", "other"}, plain).code, 0);
    expect_not_written({"acquire", "-r", "DEL", "--owner", "lock:" + resource}, plain, ">&-",
                       closed);
    EXPECT_EQ(shared_redis().command({"EXISTS", "lock:" + resource}), "1");
    EXPECT_EQ(shared_redis().command({"EXISTS", "lock:DEL"}), "0");
}

TEST_F(cli_streams, with_closed_streams_nothing_is_written_into_the_connection_to_postgresql)
{
    std::vector<std::string> const database{environment[1]};
    for (std::string const redirection : {">&-", "2>&-", "<&-", "<&- >&- 2>&-"})
        for (auto const& words : {std::vector<std::string>{"acquire", "-r", resource},
                                  {"renew", "-r", resource, "--owner", "x", "--token", "1"},
                                  {"run", "-r", resource, "--", "true"},
                                  {"show"},
                                  {"doctor"}})
            run_cli(words, database, redirection);
    auto const log = test_support::tail_of(shared_postgres().log_file(), std::size_t{1} << 20);
    EXPECT_EQ(log.find("invalid frontend message"), std::string::npos) << log;
}

TEST_F(cli_streams, without_stdin_and_stderr_it_works)
{
    for (std::string const redirection : {"<&-", "2>&-", "<&- 2>&-"}) {
        EXPECT_EQ(run_cli({"--version"}, {}, redirection).code, 0);
        auto const taken = run_cli({"acquire", "-r", resource}, environment, redirection);
        EXPECT_EQ(taken.code, 0);
        auto const grant = grant_in(taken);
        EXPECT_EQ(grant.resource, resource);
        EXPECT_EQ(run_cli({"show", "-r", resource}, environment, redirection).code, 0);
        EXPECT_EQ(
            run_cli({"release", "-r", resource, "--owner", grant.owner, "--token", grant.token},
                    environment, redirection)
                .code,
            0);
    }
}

TEST_F(cli_streams, a_program_that_is_run_finds_closed_what_was_closed)
{
    std::vector<std::string> const run_it{
        "run",
        "-r",
        resource,
        "--",
        "sh",
        "-c",
        "for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || code=1; done; exit ${code:-0}"};
    EXPECT_EQ(run_cli(run_it, environment, "<&- >&- 2>&-").code, 0);
    EXPECT_EQ(run_cli(run_it, environment).code, 1);
}

} // namespace
} // namespace fencelock::test
