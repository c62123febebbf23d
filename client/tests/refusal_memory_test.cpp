#include "refusal_memory.hpp"

#include <gtest/gtest.h>

namespace fencelock::detail {
namespace {

TEST(refusal_memory, remembers_the_highest_until_a_higher_token_is_granted)
{
    refusal_memory memory{10};
    EXPECT_EQ(memory.above("r"), 0);
    memory.refused("r", 34);
    memory.refused("r", 20);
    EXPECT_EQ(memory.above("r"), 34);
    EXPECT_EQ(memory.above("other"), 0);
    memory.granted("r", 34);
    EXPECT_EQ(memory.above("r"), 34);
    memory.granted("r", 35);
    EXPECT_EQ(memory.above("r"), 0);
    memory.refused("r", 9223372036854775807);
    memory.forget("r");
    memory.forget("other");
    EXPECT_EQ(memory.above("r"), 0);
}

TEST(refusal_memory, has_a_ceiling_and_forgets_the_oldest)
{
    refusal_memory memory{3};
    for (auto const* resource : {"a", "b", "c"})
        memory.refused(resource, 1);
    memory.refused("a", 2);
    memory.refused("d", 1);
    EXPECT_EQ(memory.above("a"), 2);
    EXPECT_EQ(memory.above("b"), 0);
    EXPECT_EQ(memory.above("c"), 1);
    EXPECT_EQ(memory.above("d"), 1);
}

} // namespace
} // namespace fencelock::detail
