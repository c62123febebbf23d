#include "open_connection.hpp"

#include <gtest/gtest.h>

namespace fencelock::detail {
namespace {

TEST(telling_line, is_the_first_that_the_server_has_said)
{
    EXPECT_EQ(telling_line("connection to server at \"localhost\" (::1), port 5432 failed: "
                           "Connection refused\n\tIs the server running?\n"
                           "connection to server at \"localhost\" (127.0.0.1), port 5432 failed: "
                           "FATAL:  database \"nope\" does not exist\nHINT:  none\n"),
              "connection to server at \"localhost\" (127.0.0.1), port 5432 failed: FATAL:  "
              "database \"nope\" does not exist");
    EXPECT_EQ(telling_line("ERROR:  a\nDETAIL:  b\n"), "ERROR:  a");
}

TEST(telling_line, is_the_first_where_no_server_has_said_anything)
{
    EXPECT_EQ(telling_line("could not connect: Connection refused\n\tIs the server running?\n"),
              "could not connect: Connection refused");
    EXPECT_EQ(telling_line("a \n"), "a");
    EXPECT_EQ(telling_line(""), "");
}

} // namespace
} // namespace fencelock::detail
