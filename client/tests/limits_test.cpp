#include "limits.hpp"

#include <gtest/gtest.h>

#include <fencelock/errors.hpp>

namespace fencelock::detail {
namespace {

using namespace std::chrono_literals;

TEST(limits, resource_is_1_to_1024_bytes)
{
    EXPECT_THROW(check_resource(""), invalid_argument);
    EXPECT_NO_THROW(check_resource("x"));
    EXPECT_NO_THROW(check_resource(std::string(1024, 'x')));
    EXPECT_THROW(check_resource(std::string(1025, 'x')), invalid_argument);
}

TEST(limits, resource_has_no_nul)
{
    using namespace std::string_view_literals;
    EXPECT_THROW(check_resource("a\0b"sv), invalid_argument);
}

TEST(limits, well_formed_utf8_is_accepted)
{
    for (auto const* text :
         {"plain", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
          "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA4z"})
        EXPECT_TRUE(is_utf8(text)) << text;
}

TEST(limits, ill_formed_utf8_is_refused)
{
    for (auto const* text :
         {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2 ", "\xE0\x9F\xBF", "\xE2\x82",
          "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80", "\xFF", "ok\xC3"}) {
        EXPECT_FALSE(is_utf8(text));
        EXPECT_THROW(check_resource(text), invalid_argument);
    }
}

TEST(limits, ttl_is_1_ms_to_1_year)
{
    EXPECT_THROW(check_ttl(0ms, "r"), invalid_argument);
    EXPECT_THROW(check_ttl(-1ms, "r"), invalid_argument);
    EXPECT_THROW(check_ttl(std::chrono::milliseconds::min(), "r"), invalid_argument);
    EXPECT_THROW(check_ttl(std::chrono::milliseconds::max(), "r"), invalid_argument);
    EXPECT_THROW(check_ttl(24h * 365 + 6h + 1ms, "r"), invalid_argument);
    EXPECT_NO_THROW(check_ttl(1ms, "r"));
    EXPECT_NO_THROW(check_ttl(24h * 365 + 6h, "r"));
}

TEST(limits, wait_is_0_to_1_year)
{
    EXPECT_THROW(check_wait(-1ms, "r"), invalid_argument);
    EXPECT_THROW(check_wait(std::chrono::milliseconds::max(), "r"), invalid_argument);
    EXPECT_THROW(check_wait(24h * 365 + 6h + 1ms, "r"), invalid_argument);
    EXPECT_NO_THROW(check_wait(0ms, "r"));
    EXPECT_NO_THROW(check_wait(24h * 365 + 6h, "r"));
}

TEST(limits, block_is_1_to_2_to_the_24)
{
    EXPECT_THROW(check_block_size(0), invalid_argument);
    EXPECT_THROW(check_block_size(-5), invalid_argument);
    EXPECT_THROW(check_block_size((1 << 24) + 1), invalid_argument);
    EXPECT_NO_THROW(check_block_size(1 << 24));
}

TEST(limits, the_error_names_the_resource_and_the_value)
{
    try {
        check_ttl(-7ms, "order:1");
        FAIL();
    } catch (invalid_argument const& e) {
        EXPECT_EQ(e.resource(), "order:1");
        EXPECT_NE(std::string{e.what()}.find("-7 ms"), std::string::npos);
    }
}

} // namespace
} // namespace fencelock::detail
