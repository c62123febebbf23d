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
          "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -WRONGTYPE "
          "Operation"})
        EXPECT_TRUE(is_configuration(reply)) << reply;
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
