// Help, version, wrong usage, and what the shell completes.
#include "cli_fixture.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace fencelock::test {
namespace {

class cli_usage : public cli_fixture {};

TEST_F(cli_usage, help_and_version_need_no_server)
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

TEST_F(cli_usage, help_fits_into_80_columns)
{
    for (std::string const command : {"run", "acquire", "renew", "release", "show", "doctor"}) {
        std::istringstream lines{run_cli({"--help"}).out + run_cli({command, "--help"}).out};
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 80U) << line;
    }
}

TEST_F(cli_usage, help_and_version_do_not_look_at_the_environment)
{
    std::vector<std::string> const odd{"FENCELOCK_KEYS=odd", "FENCELOCK_REDIS=nonsense",
                                       "FENCELOCK_DB=nonsense", "PGOPTIONS=nonsense"};
    for (auto const& arguments :
         {std::vector<std::string>{"--help"}, {"run", "--help"}, {"-V"}, {"--version", "show"}})
        EXPECT_EQ(run_cli(arguments, odd).code, 0) << ::testing::PrintToString(arguments);
    EXPECT_EQ(run_cli({"show"}, odd).code, 64);
}

TEST_F(cli_usage, wrong_usage_is_64)
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

TEST_F(cli_usage, an_option_with_a_value_is_not_given_twice)
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

TEST_F(cli_usage, bash_completes_commands_options_and_presets)
{
    EXPECT_EQ(completions("fencelock r"), "run renew release");
    EXPECT_EQ(completions("fencelock --db x a"), "acquire");
    EXPECT_EQ(completions("fencelock release --to"), "--token");
    EXPECT_EQ(completions("fencelock acquire --to"), "");
    EXPECT_EQ(completions("fencelock --keys "), "tagged plain");
    EXPECT_EQ(completions("fencelock run -r "), "");
}

// The words of a text that are long options.
std::set<std::string> options_in(std::string const& text)
{
    std::regex const option{"--[a-z][a-z-]*"};
    return {std::sregex_token_iterator{text.begin(), text.end(), option}, {}};
}

TEST_F(cli_usage, bash_completes_for_each_command_the_options_that_its_help_lists)
{
    auto const of_all = options_in(run_cli({"--help"}).out);
    for (std::string const command : {"run", "acquire", "renew", "release", "show", "doctor"}) {
        auto expected = options_in(run_cli({command, "--help"}).out);
        expected.insert(of_all.begin(), of_all.end());
        EXPECT_EQ(options_in(completions("fencelock " + command + " --")), expected) << command;
    }
}

} // namespace
} // namespace fencelock::test
