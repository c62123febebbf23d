#include <fencelock/stamp.hpp>

#include <gtest/gtest.h>

#include <fencelock/errors.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

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

template <typename Argument>
std::string type_of()
{
    return detail::parameter_type<Argument>();
}

TEST(stamp, bytes_are_bytes_as_an_argument_also_where_they_may_be_missing)
{
    using bytes = std::vector<std::byte>;
    EXPECT_EQ(type_of<bytes>(), "bytea");
    EXPECT_EQ(type_of<std::optional<bytes>>(), "bytea");
    EXPECT_EQ(type_of<std::unique_ptr<bytes>>(), "bytea");
    EXPECT_EQ(type_of<std::shared_ptr<bytes const>>(), "bytea");
    EXPECT_EQ(type_of<std::optional<std::string>>(), "text");
    EXPECT_EQ(type_of<std::unique_ptr<int>>(), "text");
    EXPECT_EQ(type_of<std::string>(), "text");
    EXPECT_EQ(type_of<char const*>(), "text");
    EXPECT_EQ(type_of<std::remove_cvref_t<decltype("ab")>>(), "text");
}

} // namespace
} // namespace fencelock
