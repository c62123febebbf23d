// What people see on a terminal: colours, lines that fit, and word of what takes long.
#include "cli_program.hpp"
#include "servers.hpp"
#include "terminal_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace fencelock::test {
namespace {

class cli_terminal : public ::testing::Test {
  protected:
    std::vector<std::string> environment(std::vector<std::string> more) const
    {
        more.push_back("FENCELOCK_REDIS=" + redis.socket_url());
        more.push_back("FENCELOCK_DB=" + shared_postgres().conninfo());
        return more;
    }

    terminal_outcome on_terminal(std::vector<std::string> const& arguments,
                                 std::vector<std::string> const& more)
    {
        return terminal_program{arguments, environment(more)}.wait();
    }

    static bool has_colours(std::string const& text)
    {
        return text.find('\x1b') != std::string::npos;
    }

    // Of the longest line, escape sequences aside.
    static std::size_t longest_line(std::string const& text)
    {
        std::size_t longest = 0;
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            std::size_t shown = 0;
            for (std::size_t i = 0; i < line.size(); ++i) {
                if (line[i] == '\x1b')
                    i = line.find('m', i);
                else
                    shown += line[i] == '\r' ? 0 : 1;
            }
            longest = std::max(longest, shown);
        }
        return longest;
    }

    void hold(std::string const& owner)
    {
        ASSERT_EQ(redis.command({"SET", lock_key(resource), "7:" + owner, "PX", "3600000"}), "OK");
    }

    test_support::redis_server redis;
    std::string resource = new_resource();
};

TEST_F(cli_terminal, show_and_doctor_have_colours_there_and_nowhere_else)
{
    hold("somebody");
    for (std::string const command : {"show", "doctor"}) {
        EXPECT_TRUE(has_colours(on_terminal({command}, {"TERM=xterm"}).said)) << command;
        EXPECT_FALSE(has_colours(on_terminal({command}, {"TERM=xterm", "NO_COLOR=1"}).said));
        EXPECT_FALSE(has_colours(on_terminal({command}, {"TERM=dumb"}).said));
        EXPECT_FALSE(has_colours(on_terminal({command}, {}).said));
        EXPECT_FALSE(has_colours(run_cli({command}, environment({"TERM=xterm"})).out));
        EXPECT_FALSE(has_colours(on_terminal({"--json", command}, {"TERM=xterm"}).said));
    }
}

// A program that reads it gets a line for each that is held, and none for none.
TEST_F(cli_terminal, that_nothing_is_held_is_told_there_and_nowhere_else)
{
    std::vector<std::string> const redis_alone{"FENCELOCK_REDIS=" + redis.socket_url()};
    auto const shown = terminal_program{{"show"}, redis_alone}.wait();
    EXPECT_EQ(shown.code, 0);
    EXPECT_EQ(shown.said, "nothing is held\r\n");
    EXPECT_EQ((terminal_program{{"--json", "show"}, redis_alone}.wait().said), "");
    EXPECT_EQ(run_cli({"show"}, redis_alone).out, "");
    auto const lists_something = [&] {
        return terminal_program{{"show"}, redis_alone}.wait().said.find("nothing is held") ==
               std::string::npos;
    };
    redis.command({"SET", lock_key("%#" + std::string(64, 'f')), "7:x", "PX", "3600000"});
    EXPECT_TRUE(lists_something()); // by its key alone
    redis.command({"FLUSHALL"});
    EXPECT_FALSE(lists_something());
    hold("somebody");
    EXPECT_TRUE(lists_something());
}

TEST_F(cli_terminal, lines_fit_into_80_columns)
{
    hold(std::string(32, 'f'));
    redis.command({"HSET", state_key(resource), "last", "123456789", "end", "123457788"});
    auto const shown = on_terminal({"show"}, {"TERM=xterm"});
    EXPECT_EQ(shown.code, 0) << shown.said;
    EXPECT_NE(shown.said.find("held by " + std::string(32, 'f')), std::string::npos) << shown.said;
    EXPECT_LE(longest_line(shown.said), 80U) << shown.said;
    EXPECT_LE(longest_line(on_terminal({"doctor"}, {"TERM=xterm"}).said), 80U);
    // Elsewhere a program may read it, line by line.
    EXPECT_GT(longest_line(run_cli({"show"}, environment({})).out), 80U);
}

TEST_F(cli_terminal, what_others_have_written_is_shown_and_not_obeyed)
{
    hold("evil\x1b]0;title\x07");
    for (auto const& said : {on_terminal({"show"}, {"TERM=xterm", "NO_COLOR=1"}).said,
                             run_cli({"show"}, environment({})).out}) {
        EXPECT_FALSE(has_colours(said)) << said;
        EXPECT_NE(said.find("evil\\x1b]0;title\\x07"), std::string::npos) << said;
    }
}

TEST_F(cli_terminal, waiting_for_a_lock_is_told_and_the_line_is_gone_afterwards)
{
    hold("somebody");
    std::vector<std::string> const words{"acquire", "-r", resource, "--wait", "1h"};
    terminal_program waiting{words, environment({"TERM=xterm"})};
    EXPECT_TRUE(waiting.says("fencelock: waiting for the lock of \"" + resource + "\" ("));
    redis.command({"DEL", lock_key(resource)});
    auto const outcome = waiting.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.said;
    auto const result = outcome.said.find(resource + " "); // what acquire prints
    ASSERT_NE(result, std::string::npos) << outcome.said;
    std::string const cleared = "\r\x1b[K";
    EXPECT_EQ(outcome.said.substr(result - cleared.size(), cleared.size()), cleared)
        << outcome.said;
}

TEST_F(cli_terminal, a_wait_that_is_interrupted_ends_with_a_clear_line)
{
    hold("somebody");
    terminal_program waiting{{"run", "-r", resource, "--wait", "1h", "--", "true"},
                             environment({"TERM=xterm"})};
    EXPECT_TRUE(waiting.says("waiting for the lock"));
    waiting.type("\x03");
    auto const outcome = waiting.wait();
    EXPECT_EQ(outcome.code, 128 + 2);
    EXPECT_EQ(outcome.said.substr(outcome.said.size() - 4), "\r\x1b[K") << outcome.said;
}

TEST_F(cli_terminal, a_dumb_terminal_is_told_once_in_a_line_of_its_own)
{
    hold("somebody");
    auto const outcome = on_terminal({"acquire", "-r", resource, "--wait", "5s"}, {"TERM=dumb"});
    auto const told = "fencelock: waiting for the lock of \"" + resource + "\"\r\n";
    auto const at = outcome.said.find(told);
    EXPECT_NE(at, std::string::npos) << outcome.said;
    EXPECT_EQ(outcome.said.find(told, at + 1), std::string::npos) << outcome.said;
    EXPECT_FALSE(has_colours(outcome.said));
}

TEST_F(cli_terminal, no_progress_is_told_where_stderr_is_no_terminal)
{
    hold("somebody");
    auto const outcome =
        run_cli({"acquire", "-r", resource, "--wait", "5s"}, environment({"TERM=xterm"}));
    EXPECT_NE(outcome.code, 0);
    EXPECT_FALSE(has_colours(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.err.find("waiting for the lock"), std::string::npos) << outcome.err;
}

TEST_F(cli_terminal, looking_at_a_server_that_is_slow_is_told)
{
    hold("somebody");
    redis.pause();
    terminal_program doctor{{"doctor"}, environment({"TERM=xterm"})};
    EXPECT_TRUE(doctor.says("fencelock: looking at Redis ("));
    terminal_program show{{"show"}, environment({"TERM=xterm"})};
    EXPECT_TRUE(show.says("fencelock: looking for what is held ("));
    redis.resume();
    doctor.wait();
    show.wait();
}

} // namespace
} // namespace fencelock::test
