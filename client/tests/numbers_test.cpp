#include "numbers.hpp"

#include <gtest/gtest.h>

#include "clock.hpp"

namespace fencelock::detail {
namespace {

using namespace std::chrono_literals;

TEST(numbers, tokens_are_exact_to_2_to_the_63)
{
    EXPECT_EQ(to_token("0"), 0);
    EXPECT_EQ(to_token("9007199254740993"), 9007199254740993);
    EXPECT_EQ(to_token("9223372036854775807"), 9223372036854775807);
}

TEST(numbers, what_is_no_token_is_an_error)
{
    for (auto const* text : {"", "-1", "1.5", "1e3", " 1", "1 ", "9223372036854775808", "x"})
        EXPECT_THROW(to_token(text), error) << text;
}

TEST(clock, a_lease_is_relied_on_for_less_than_its_ttl)
{
    EXPECT_EQ(reliable(30s), 30s - 300ms - 2ms);
    EXPECT_EQ(reliable(1000ms), 988ms);
    EXPECT_EQ(reliable(1ms), 500us);
    EXPECT_EQ(reliable(3ms), 1500us);
}

} // namespace
} // namespace fencelock::detail
