// Connection strings of PostgreSQL.
#include "conninfo.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace fencelock::detail {
namespace {

using namespace std::chrono_literals;

std::string limited(std::string const& conninfo, std::chrono::milliseconds most)
{
    return with_connect_limit(with_defaults(conninfo), most);
}

// The last one counts.
std::string connect_timeout_in(std::string const& conninfo)
{
    auto const at = conninfo.rfind("connect_timeout='");
    return at == std::string::npos
               ? ""
               : conninfo.substr(at + 17, conninfo.find('\'', at + 17) - at - 17);
}

TEST(conninfo, connecting_takes_no_longer_than_is_left)
{
    EXPECT_EQ(connect_timeout_in(limited("dbname=x connect_timeout=30", 4100ms)), "5");
    EXPECT_EQ(connect_timeout_in(limited("dbname=x connect_timeout=0", 4s)), "4"); // for ever
    EXPECT_EQ(connect_timeout_in(limited("dbname=x connect_timeout=30", 1ms)),
              "2"); // libpq's least
    EXPECT_EQ(connect_timeout_in(limited("postgresql://h/x?connect_timeout=9", 3s)), "3");
}

TEST(conninfo, connecting_takes_no_longer_than_the_caller_said)
{
    EXPECT_EQ(connect_timeout_in(limited("dbname=x connect_timeout=3", 1h)), "3");
    EXPECT_EQ(connect_timeout_in(limited("dbname=x", 1h)), "2"); // the default
}

TEST(conninfo, the_environment_may_say_how_long_connecting_takes)
{
    ::setenv("PGCONNECT_TIMEOUT", "20", 1);
    EXPECT_EQ(connect_timeout_in(limited("dbname=x", 1h)), "");
    EXPECT_EQ(connect_timeout_in(limited("dbname=x", 6s)), "6");
    ::unsetenv("PGCONNECT_TIMEOUT");
}

bool says(std::string const& conninfo, std::string const& words)
{
    return (' ' + conninfo + ' ').find(' ' + words + ' ') != std::string::npos;
}

TEST(conninfo, a_silent_network_is_noticed_by_limits_that_the_caller_may_set)
{
    EXPECT_TRUE(says(with_defaults("dbname=x"), "keepalives_count='3'"));
    EXPECT_TRUE(says(with_defaults("dbname=x"), "keepalives_idle='10'"));
    auto const own = with_defaults("postgresql://h/x?keepalives_idle=0");
    EXPECT_TRUE(says(own, "keepalives_idle='0'"));
    EXPECT_FALSE(says(own, "keepalives_idle='10'"));
    EXPECT_TRUE(says(own, "keepalives_count='3'"));
}

TEST(conninfo, a_service_file_keeps_its_word)
{
    EXPECT_EQ(with_defaults("service=shop"),
              "service='shop' client_encoding='UTF8' fallback_application_name='fencelock'");
    ::setenv("PGSERVICE", "shop", 1);
    EXPECT_EQ(connect_timeout_in(with_defaults("dbname=x")), "");
    ::unsetenv("PGSERVICE");
}

} // namespace
} // namespace fencelock::detail
