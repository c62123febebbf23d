#include "redis_fault.hpp"

#include <gtest/gtest.h>

namespace fencelock::detail {
namespace {

TEST(redis_fault, passing_troubles_are_told_from_lasting_ones)
{
    for (auto const* reply :
         {"OOM command not allowed when used memory > 'maxmemory'.", "READONLY You can't write",
          "LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
          "NOREPLICAS Not enough good replicas to write.", "BUSY Redis is busy running a script",
          "MISCONF Redis is configured to save RDB snapshots", "CLUSTERDOWN The cluster is down",
          "UNBLOCKED force unblock", "TRYAGAIN", "ERR max number of clients reached",
          "ERR Error running script (call to f_1): @user_script:80: @user_script: 80: -OOM command "
          "not allowed",
          "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You "
          "can't"})
        EXPECT_FALSE(is_configuration(reply)) << reply;
    for (auto const* reply :
         {"NOPERM this user has no permissions", "NOAUTH Authentication required.",
          "WRONGPASS invalid username-password pair", "WRONGTYPE Operation against a key",
          "MOVED 1 127.0.0.1:2", "ERR unknown command", "ERR DB index is out of range",
          "ERR Error running script (call to f_1): @user_script:9: attempt to index a nil value",
          "ERR Error running script (call to f_1): @user_script:9: WRONGTYPE Operation",
          "ERR Error running script", "ERR Error running script @user_script:",
          "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -WRONGTYPE "
          "Operation"})
        EXPECT_TRUE(is_configuration(reply)) << reply;
}

TEST(redis_fault, troubles_of_one_server_are_told_from_those_of_all)
{
    for (auto const* reply :
         {"READONLY You can't write against a read only replica.", "LOADING Redis is loading",
          "MASTERDOWN Link with MASTER is down", "CLUSTERDOWN The cluster is down",
          "UNBLOCKED force unblock from blocking operation",
          "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You"})
        EXPECT_TRUE(is_of_server(reply)) << reply;
    for (auto const* reply : {"OOM command not allowed", "NOREPLICAS Not enough", "MOVED 1 h:1",
                              "NOPERM no", "TRYAGAIN Multiple keys request", "ERR unknown"})
        EXPECT_FALSE(is_of_server(reply)) << reply;
    EXPECT_TRUE(passes_at_once("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_FALSE(passes_at_once("CLUSTERDOWN The cluster is down"));
}

TEST(redis_fault, redirections_name_a_slot_and_a_server)
{
    auto const moved = redirection_of("MOVED 3999 127.0.0.1:6381");
    ASSERT_TRUE(moved);
    EXPECT_FALSE(moved->once);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->host, "127.0.0.1");
    EXPECT_EQ(moved->port, "6381");
    auto const ask = redirection_of("ASK 0 ::1:6381");
    ASSERT_TRUE(ask);
    EXPECT_TRUE(ask->once);
    EXPECT_EQ(ask->host, "::1");
    EXPECT_EQ(ask->port, "6381");
    EXPECT_TRUE(redirection_of("MOVED 1 :6381")->host.empty());
    for (auto const* reply : {"MOVED", "MOVED x h:1", "MOVED 1", "MOVED 1 h", "MOVED 1 h:", "ERR"})
        EXPECT_FALSE(redirection_of(reply)) << reply;
}

TEST(redis_fault, what_is_told_names_no_place_in_a_script_but_what_to_do)
{
    for (auto const* reply :
         {"OOM command not allowed when used memory > 'maxmemory'. script: 3f1a, on "
          "@user_script:56.",
          "ERR Error running script (call to f_1): @user_script:80: @user_script: 80: -OOM command "
          "not allowed when used memory > 'maxmemory'."})
        EXPECT_EQ(told_by_reply(reply), "OOM command not allowed when used memory > 'maxmemory'. "
                                        "(raise its maxmemory, or delete what else is kept there)");
    EXPECT_EQ(told_by_reply("TRYAGAIN Multiple keys"), "TRYAGAIN Multiple keys");
    EXPECT_EQ(
        told_by_reply("ERR Error running script (call to f_1): @user_script:88: WRONGTYPE no"),
        "WRONGTYPE no");
    EXPECT_NE(told_by_reply("NOAUTH Authentication required.").find("password"), std::string::npos);
}

TEST(redis_fault, what_is_told_of_a_missing_right_names_the_right)
{
    for (auto const* reply : {"NOPERM this user has no permissions to run the 'scan' command",
                              "NOPERM User 'no' has no permissions to run the 'scan' command",
                              "NOPERM this user has no permissions to run the 'scan' command or "
                              "its subcommand",
                              "NOPERM ACL failure in script: User x has no permissions to run the "
                              "'scan' command"})
        EXPECT_TRUE(told_by_reply(reply).ends_with(" (the user needs +scan)"))
            << told_by_reply(reply);
    EXPECT_TRUE(told_by_reply("NOPERM User x has no permissions to run the 'config|get' command")
                    .ends_with(" (the user needs +config|get)"));
    for (auto const* reply :
         {"NOPERM this user has no permissions to run the 'info' command",
          "NOPERM this user has no permissions to run the 'cluster' command or its subcommand",
          "ERR The user executing the script can't run this command or subcommand script: 1"})
        EXPECT_NE(told_by_reply(reply).find("+info|replication and the commands"),
                  std::string::npos)
            << told_by_reply(reply);
    for (auto const* reply :
         {"NOPERM this user has no permissions to access one of the keys used as arguments",
          "NOPERM No permissions to access a key"})
        EXPECT_NE(told_by_reply(reply).find("~fencelock:*"), std::string::npos)
            << told_by_reply(reply);
}

TEST(redis_fault, a_missing_right_is_seen_in_every_versions_words)
{
    EXPECT_TRUE(
        is_missing_right("NOPERM this user has no permissions to run the 'evalsha' command"));
    EXPECT_TRUE(is_missing_right(
        "ERR The user executing the script can't run this command or subcommand script: 1"));
    EXPECT_TRUE(
        is_missing_right("ERR ACL failure in script: User x has no permissions to run 'info'"));
    EXPECT_FALSE(is_missing_right("ERR unknown command"));
}

} // namespace
} // namespace fencelock::detail
