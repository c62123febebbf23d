#include "redis_cluster.hpp"

#include <gtest/gtest.h>

#include "keys.hpp"

namespace fencelock::detail {
namespace {

// The check value of CRC-16/XMODEM is 0x31C3.
TEST(slot, is_that_of_the_specification)
{
    EXPECT_EQ(slot_of("123456789"), 0x31C3 % cluster_slots);
    EXPECT_EQ(slot_of(""), 0);
}

TEST(slot, is_the_hash_tags)
{
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar")); // an empty tag is none
}

TEST(slot, is_one_for_all_keys_of_a_resource)
{
    for (auto const* resource : {"order:1001", "}", "{", "{}", "}x", "a}b{c"}) {
        auto const keys = keys_of(resource);
        EXPECT_EQ(slot_of(keys.lock), slot_of(keys.state)) << resource;
        EXPECT_EQ(slot_of(keys.lock), slot_of(keys.wake)) << resource;
    }
}

} // namespace
} // namespace fencelock::detail
