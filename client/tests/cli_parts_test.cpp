// The parts of the command line that need no server.
#include "arguments.hpp"
#include "doctor.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "pgoptions.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace fencelock::cli {
namespace {

using namespace std::chrono_literals;

TEST(cli_arguments, options_stand_before_or_behind_the_command_with_or_without_equals)
{
    auto const given = parse_arguments({"--redis", "redis://h", "acquire", "-rorder:1", "--db=x",
                                        "--ttl=5m", "--wait", "250ms", "--json", "--owner", "me",
                                        "--no-confirm", "--keys", "plain"});
    EXPECT_EQ(given.command, command::acquire);
    EXPECT_EQ(given.redis, std::vector<std::string>{"redis://h"});
    EXPECT_EQ(given.db, "x");
    EXPECT_EQ(given.resource, "order:1");
    EXPECT_EQ(given.ttl, 5min);
    EXPECT_EQ(given.wait, 250ms);
    EXPECT_EQ(given.owner, "me");
    EXPECT_TRUE(given.json);
    EXPECT_FALSE(given.confirm);
    EXPECT_EQ(given.keys, key_preset::plain);
}

TEST(cli_arguments, redis_may_be_named_several_times_and_options_go_before_the_variable)
{
    ::setenv("FENCELOCK_REDIS", " redis://a  redis://b\n", 1);
    using words = std::vector<std::string>;
    EXPECT_EQ(parse_arguments({"show"}).redis, (words{"redis://a", "redis://b"}));
    EXPECT_EQ(parse_arguments({"--redis", "redis://c", "show"}).redis, words{"redis://c"});
    EXPECT_EQ(parse_arguments({"--redis=redis://c", "show", "--redis", "redis://d"}).redis,
              (words{"redis://c", "redis://d"}));
    ::unsetenv("FENCELOCK_REDIS");
}

TEST(cli_arguments, what_follows_the_program_is_its_own)
{
    for (auto const& words :
         {std::vector<std::string>{"--db", "x", "run", "-r", "a", "--", "cmd", "--ttl", "-r"},
          std::vector<std::string>{"--db", "x", "run", "-r", "a", "cmd", "--ttl", "-r"}})
        EXPECT_EQ(parse_arguments(words).program, (std::vector<std::string>{"cmd", "--ttl", "-r"}));
}

TEST(cli_arguments, what_is_wrong_is_refused)
{
    using words = std::vector<std::string>;
    for (auto const& wrong :
         {words{},
          words{"--db", "x"},
          words{"--db", "x", "nonsense"},
          words{"--db"},
          words{"--db", "", "show"},
          words{"acquire", "-r", "a"},
          words{"--db", "x", "acquire"},
          words{"--db", "x", "acquire", "-r", "a", "b"},
          words{"--db", "x", "acquire", "-r", "a", "--", "b"},
          words{"--db", "x", "acquire", "-r", "a", "--token", "1"},
          words{"--db", "x", "acquire", "-r", "a", "--ttl", "30"},
          words{"--db", "x", "acquire", "-r", "a", "--json=1"},
          words{"--db", "x", "acquire", "-r", "a", "--nonsense"},
          words{"--db", "x", "acquire", "-r", "a", "-x"},
          words{"--db", "x", "run", "-r", "a"},
          words{"--db", "x", "run", "-r", "a", "--owner", "me", "--", "true"},
          words{"--db", "x", "renew", "-r", "a", "--owner", "me"},
          words{"--db", "x", "release", "-r", "a", "--token", "1"},
          words{"--db", "x", "release", "-r", "a", "--owner", "me", "--token", "0"},
          words{"--db", "x", "release", "-r", "a", "--owner", "me", "--token", "1x"},
          words{"--db", "x", "doctor", "-r", "a"},
          words{"--db", "x", "--keys", "plain", "show"},
          words{"--db", "x", "--keys", "odd", "show"}})
        EXPECT_THROW(parse_arguments(wrong), usage_error) << ::testing::PrintToString(wrong);
}

TEST(cli_arguments, an_option_is_not_taken_for_the_value_that_was_forgotten)
{
    using words = std::vector<std::string>;
    for (auto const& forgotten : {words{"--db", "x", "run", "-r", "--ttl", "5s", "--", "true"},
                                  words{"--db", "x", "run", "-r", "--ttl=5s", "--", "true"},
                                  words{"--db", "x", "run", "-r", "--", "true"},
                                  words{"--db", "x", "acquire", "--resource", "--json"}})
        try {
            parse_arguments(forgotten);
            ADD_FAILURE() << ::testing::PrintToString(forgotten);
        } catch (usage_error const& e) {
            EXPECT_NE(std::string{e.what()}.find("write --resource=--"), std::string::npos)
                << e.what();
        }
    EXPECT_EQ(parse_arguments({"--db", "x", "acquire", "--resource=--ttl"}).resource, "--ttl");
    EXPECT_EQ(parse_arguments({"--db", "x", "acquire", "-r", "--mine"}).resource, "--mine");
}

// Before anything else is said about the servers.
TEST(cli_arguments, a_server_that_is_given_twice_is_told_as_that)
{
    using words = std::vector<std::string>;
    for (auto const& more : {words{"--db", "x"}, words{"--keys", "plain"}})
        for (std::string const url : {"redis://:secret@a", "redis+cluster://a", "redis://b"}) {
            words given{"--redis", url, "--redis", "redis://b", "--redis", url, "show"};
            given.insert(given.end(), more.begin(), more.end());
            try {
                parse_arguments(given);
                ADD_FAILURE() << url;
            } catch (usage_error const& e) {
                EXPECT_NE(std::string{e.what()}.find("given twice"), std::string::npos) << e.what();
                EXPECT_EQ(std::string{e.what()}.find("secret"), std::string::npos);
            }
        }
}

TEST(cli_exit_codes, help_of_a_command_tells_those_that_it_has)
{
    auto const of_release = exit_codes_of(command::release);
    for (std::string const code : {"  0 ", "  64 ", "  69 ", "  70 ", "  76 "})
        EXPECT_NE(of_release.find(code), std::string::npos) << of_release;
    for (std::string const code : {"  1 ", "  75 ", "  77 ", "  126 ", "  127 ", "128"})
        EXPECT_EQ(of_release.find(code), std::string::npos) << of_release;
    EXPECT_EQ(exit_codes_of(command::acquire).find("CMD"), std::string::npos);
    EXPECT_EQ(of_release.find("lost"), std::string::npos);
    auto const of_all = exit_codes_of(std::nullopt);
    for (auto const one : {command::run, command::acquire, command::renew, command::release,
                           command::show, command::doctor}) {
        std::istringstream lines{exit_codes_of(one)};
        for (std::string line; std::getline(lines, line);)
            EXPECT_NE(of_all.find(line + '\n'), std::string::npos) << line;
    }
}

void expect_refused(std::string const& duration, std::string const& why)
{
    try {
        parse_duration(duration, "--ttl");
        ADD_FAILURE() << duration;
    } catch (usage_error const& e) {
        EXPECT_EQ(std::string{e.what()}.rfind(why, 0), 0U) << e.what();
    }
}

TEST(cli_arguments, durations_have_units)
{
    EXPECT_EQ(parse_duration("0", "--ttl"), 0ms);
    EXPECT_EQ(parse_duration("1500ms", "--ttl"), 1500ms);
    EXPECT_EQ(parse_duration("30s", "--ttl"), 30s);
    EXPECT_EQ(parse_duration("5m", "--ttl"), 5min);
    EXPECT_EQ(parse_duration("2h", "--ttl"), 2h);
    EXPECT_EQ(parse_duration("365d", "--ttl"), 24h * 365);
    for (auto const* wrong : {"", "s", "30", "1.5s", "-1s", "-0", "5 s", "5S", "-s",
                              "-99999999999999999999s", "99999999999999999999"})
        expect_refused(wrong, "--ttl is a duration like ");
}

TEST(cli_arguments, a_duration_above_a_year_is_told_the_limit)
{
    EXPECT_EQ(parse_duration("31557600000ms", "--ttl"), 24h * 365 + 6h);
    for (auto const* too_long : {"31557600001ms", "366d", "9223372036854775807d",
                                 "99999999999999999999s", "99999999999999999999ms"})
        expect_refused(too_long, "--ttl is at most 1 year (365.25 days), not \"");
}

TEST(cli_json, texts_are_escaped)
{
    EXPECT_EQ(json_string("a\"\\\n\x01\xC3\xA4"), "\"a\\\"\\\\\\u000a\\u0001\xC3\xA4\"");
    EXPECT_EQ(json_string("a\xFFz"), "\"a\\ufffdz\"");
    EXPECT_EQ(json_object{}.add("a", "x").add("b", 2).add("c", true).add_null("d").text(),
              R"({"a": "x", "b": 2, "c": true, "d": null})");
}

TEST(cli_pgoptions, white_space_and_backslashes_are_escaped)
{
    EXPECT_EQ(pgoptions_with_claim("", "order:1", 34), R"(-c fencelock.claims={"order:1":\ 34})");
    EXPECT_EQ(pgoptions_with_claim("", "a b\\c\"", 34),
              R"(-c fencelock.claims={"a\ b\\\\c\\"":\ 34})");
}

// What PostgreSQL's pg_split_opts() makes of PGOPTIONS, written independently of the code that is
// tested.
std::vector<std::string> read_by_server(std::string const& options)
{
    std::vector<std::string> words;
    auto const* at = options.c_str();
    while (*at != '\0') {
        while (std::isspace(static_cast<unsigned char>(*at)) != 0)
            ++at;
        if (*at == '\0')
            break;
        words.emplace_back();
        for (bool is_escaped = false; *at != '\0'; ++at) {
            if (!is_escaped && std::isspace(static_cast<unsigned char>(*at)) != 0)
                break;
            is_escaped = !is_escaped && *at == '\\';
            if (!is_escaped)
                words.back() += *at;
        }
    }
    return words;
}

TEST(cli_pgoptions, the_server_reads_the_setting_behind_what_was_there)
{
    for (std::string const inherited :
         {"", "-c geqo=off", " -c  geqo=off\t", R"(-c search_path=a\ b)", R"(-c x.y=a\\)",
          R"(-c x.y=a\\\ )", R"(-c x.y=\\\\)", R"(-c x.y=-c\ fencelock.claims={"a":\ 1})"})
        for (std::string const resource :
             {"order:1", "a b", "back\\slash", "\\", " ", "tab\t\n\"{}"}) {
            auto words = read_by_server(inherited);
            words.emplace_back("-c");
            words.push_back("fencelock.claims={" + json_string(resource) + ": 34}");
            auto const options = pgoptions_with_claim(inherited, resource, 34);
            EXPECT_EQ(read_by_server(options), words) << options;
            EXPECT_EQ(options.rfind(inherited, 0), 0U) << options;
        }
}

// Nothing is read of it, but it would take the blank behind it for its own.
TEST(cli_pgoptions, a_last_backslash_does_not_swallow_the_setting)
{
    for (std::string const inherited : {R"(-c x.y=a\)", R"(-c x.y=a\\\)"}) {
        auto words = read_by_server(inherited);
        words.insert(words.end(), {"-c", R"(fencelock.claims={"b": 2})"});
        EXPECT_EQ(read_by_server(pgoptions_with_claim(inherited, "b", 2)), words);
    }
}

TEST(cli_pgoptions, runs_within_runs_have_one_setting)
{
    std::string options = R"(-c x.y=a\ b -B 1)";
    std::string all;
    for (int level = 1; level <= 30; ++level) {
        auto const resource = "a \\\"" + std::to_string(level);
        options = pgoptions_with_claim(options, resource, level);
        all += (all.empty() ? "" : ", ") + json_string(resource) + ": " + std::to_string(level);
        EXPECT_EQ(read_by_server(options),
                  (std::vector<std::string>{"-c", "x.y=a b", "-B", "1", "-c",
                                            "fencelock.claims={" + all + "}"}));
    }
}

TEST(cli_pgoptions, what_is_not_written_here_is_kept_byte_for_byte)
{
    EXPECT_EQ(pgoptions_with_claim("-c geqo=off", "b", 2),
              R"(-c geqo=off -c fencelock.claims={"b":\ 2})");
    for (std::string const others :
         {R"(--fencelock.claims={"a":1})", R"(-c fencelock.claims={"a":1})",
          R"(-cfencelock.claims={"a":\ 1})", R"(-c  fencelock.claims={"a":\ 1})",
          R"(-c fencelock.claims={\"a":\ 1})", R"(-c fencelock.claims={"a":\ "1"})"}) {
        EXPECT_EQ(pgoptions_with_claim(others, "b", 2),
                  others + R"( -c fencelock.claims={"a":\ 1,\ "b":\ 2})");
        auto const within = pgoptions_with_claim(others, "b", 2);
        EXPECT_EQ(pgoptions_with_claim(within, "c", 3),
                  others + R"( -c fencelock.claims={"a":\ 1,\ "b":\ 2,\ "c":\ 3})");
    }
}

TEST(cli_pgoptions, options_on_either_side_of_a_replaced_setting_are_kept)
{
    std::string const own = R"(-c fencelock.claims={"a":\ 1})";
    std::string const both = R"(-c fencelock.claims={"a":\ 1,\ "b":\ 2})";
    EXPECT_EQ(pgoptions_with_claim(own, "b", 2), both);
    EXPECT_EQ(pgoptions_with_claim("-c x.y=1  " + own, "b", 2), "-c x.y=1  " + both);
    EXPECT_EQ(pgoptions_with_claim(own + " -c x.y=1", "b", 2), "-c x.y=1 " + both);
    EXPECT_EQ(pgoptions_with_claim("-c x.y=1 " + own + "\t-c x.z=2 ", "b", 2),
              "-c x.y=1\t-c x.z=2  " + both);
    EXPECT_EQ(pgoptions_with_claim(own + ' ' + own, "b", 2), both);
    // As an earlier version left them: the last one counts, and has what the others have.
    EXPECT_EQ(pgoptions_with_claim("-c x.y=1 " + own + ' ' + both, "c", 3),
              R"(-c x.y=1 -c fencelock.claims={"a":\ 1,\ "b":\ 2,\ "c":\ 3})");
}

TEST(cli_pgoptions, of_several_settings_the_last_one_counts)
{
    EXPECT_EQ(
        pgoptions_with_claim(R"(-c fencelock.claims={"a":\ 1} --fencelock.claims={"x":5})", "b", 2),
        R"(--fencelock.claims={"x":5} -c fencelock.claims={"x":\ 5,\ "b":\ 2})");
}

// A lock that was lost around this one leaves its claim there, and no name may be claimed twice.
TEST(cli_pgoptions, what_the_server_takes_for_a_claim_is_kept)
{
    for (std::string const others :
         {R"(-c FenceLock.Claims={"a":7})", R"(-cfencelock.claims={"a":"7"})",
          R"(-cfencelock.claims={"a":"007"})"})
        EXPECT_EQ(pgoptions_with_claim(others, "b", 2),
                  others + R"( -c fencelock.claims={"a":\ 7,\ "b":\ 2})");
}

TEST(cli_pgoptions, an_older_claim_of_the_same_resource_is_replaced)
{
    auto const* const outer = R"(-cfencelock.claims={"a,\\"b":1,\ "b"\ :\ 7,"c":"3"})";
    EXPECT_EQ(pgoptions_with_claim(outer, "b", 9),
              std::string{outer} + R"( -c fencelock.claims={"a,\\"b":\ 1,\ "c":\ 3,\ "b":\ 9})");
    EXPECT_EQ(pgoptions_with_claim(pgoptions_with_claim("", "b", 7), "b", 9),
              R"(-c fencelock.claims={"b":\ 9})");
}

// Nothing is presented by it, and it must not spoil what is.
TEST(cli_pgoptions, a_setting_that_the_server_cannot_read_presents_nothing)
{
    for (std::string const value : {"",
                                    "{}",
                                    "garbage",
                                    "{",
                                    R"({"a")",
                                    R"({"a)",
                                    R"({"a\\")",
                                    R"({"a":})",
                                    R"({"a":1)",
                                    R"({"a":1,})",
                                    R"({"a":"1})",
                                    R"({"a":x})",
                                    R"({"a":1}x)",
                                    R"({"a":{"b":1}})",
                                    R"({"a":0})",
                                    R"({"a":-1})",
                                    R"({"a":007})",
                                    R"({"a":9223372036854775808})",
                                    R"({"a":"1\ "})",
                                    R"({"a":1,"a":2})"}) {
        auto const others = "-cfencelock.claims=" + value;
        EXPECT_EQ(pgoptions_with_claim(others, "b", 2),
                  others + R"( -c fencelock.claims={"b":\ 2})");
    }
}

// Else a lock of one resource could not be taken anywhere.
TEST(cli_pgoptions, any_one_resource_fits)
{
    for (char const worst : {'\x01', '\\', '"', ' '})
        EXPECT_LE(pgoptions_with_claim("", std::string(1024, worst),
                                       std::numeric_limits<std::int64_t>::max())
                      .size(),
                  longest_pgoptions);
}

TEST(cli_clocks, clocks_that_are_apart_are_a_finding)
{
    std::vector<finding> all;
    findings found{all, "redis"};
    compare_clocks(found, 10'000, 10'000, 10'050);
    compare_clocks(found, 8'500, 10'000, 10'050);  // within tolerance
    compare_clocks(found, 12'000, 10'000, 10'050); // likewise
    compare_clocks(found, 50'000, 10'000, 90'000); // an answer that took so long tells nothing
    EXPECT_TRUE(all.empty());
    compare_clocks(found, 13'000, 10'000, 10'050);
    compare_clocks(found, 7'000, 10'000, 10'050);
    EXPECT_EQ(all.size(), 2U);
}

} // namespace
} // namespace fencelock::cli
