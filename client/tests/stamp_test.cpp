#include <fencelock/stamp.hpp>

#include <gtest/gtest.h>

#include <fencelock/errors.hpp>

namespace fencelock {
namespace {

TEST(stamp, writes_its_token_and_spares_rows_with_a_higher_one)
{
    stamp const s{"order:1", 9223372036854775807, "fence_token"};
    EXPECT_EQ(s.token(), 9223372036854775807);
    EXPECT_EQ(s.assignment(), "\"fence_token\" = 9223372036854775807");
    EXPECT_EQ(s.condition(), "(\"fence_token\" IS NULL OR \"fence_token\" <= 9223372036854775807)");
}

TEST(stamp, the_column_is_a_name_and_never_sql)
{
    EXPECT_EQ(stamp("r", 1, "a\"b; --").assignment(), "\"a\"\"b; --\" = 1");
    EXPECT_THROW(stamp("r", 1, ""), invalid_argument);
    EXPECT_THROW(stamp("r", 1, std::string_view{"a\0b", 3}), invalid_argument);
}

} // namespace
} // namespace fencelock
