#include "keys.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fencelock::detail {
namespace {

TEST(keys, plain_names_stay_readable)
{
    auto const keys = keys_of("order:1001");
    EXPECT_EQ(keys.lock, "fencelock:v1:{order:1001}:lock");
    EXPECT_EQ(keys.state, "fencelock:v1:{order:1001}:state");
    EXPECT_EQ(keys.wake, "fencelock:v1:{order:1001}:wake");
}

TEST(keys, every_allowed_byte_is_kept_and_every_other_encoded)
{
    std::string const allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+=,~-";
    EXPECT_EQ(encode_resource(allowed), allowed);
    EXPECT_EQ(encode_resource("a b"), "a%20b");
    EXPECT_EQ(encode_resource("100%"), "100%25");
    EXPECT_EQ(encode_resource("\xC3\xA4"), "%C3%A4");
    EXPECT_EQ(encode_resource("a}b{c"), "a%7Db%7Bc");
}

TEST(keys, no_name_closes_the_hash_tag_early)
{
    std::mt19937 random{7};
    std::uniform_int_distribution<> byte{1, 255};
    for (int i = 0; i < 2000; ++i) {
        std::string name;
        for (int n = 0; n < 1 + i % 40; ++n)
            name += static_cast<char>(byte(random));
        auto const encoded = encode_resource(name);
        EXPECT_EQ(encoded.find_first_of("{}"), std::string::npos);
        EXPECT_FALSE(encoded.empty());
    }
}

TEST(keys, a_long_name_becomes_its_sha256)
{
    std::string const fits(180, 'a');
    EXPECT_EQ(encode_resource(fits), fits);
    // printf 'a%.0s' $(seq 181) | sha256sum
    EXPECT_EQ(encode_resource(std::string(181, 'a')),
              "%#9ce4e58a8e1314bf14ca8a52ac20fa1b1e27a78c40a24b5a287422f992b29b9d");
    EXPECT_EQ(encode_resource(std::string(61, ' ')).substr(0, 2), "%#"); // 183 once encoded
}

TEST(keys, different_names_have_different_keys)
{
    std::set<std::string> seen;
    for (std::string const name : {"a", "a%", "%", "%25", "a b", "a%20b", "%#", "%23", "A",
                                   "a:lock", "a}:lock", "}", "{", "{}"})
        EXPECT_TRUE(seen.insert(encode_resource(name)).second) << name;
}

TEST(keys, a_locks_key_tells_its_resource)
{
    for (std::string const name : {"order:1001", "a b", "100%", "}{", "\xC3\xA4", "x:lock"})
        for (auto const preset : {key_preset::tagged, key_preset::plain})
            EXPECT_EQ(resource_of_lock(keys_of(name, preset).lock, preset), name);
    EXPECT_FALSE(resource_of_lock(keys_of(std::string(181, 'a')).lock, key_preset::tagged));
    EXPECT_FALSE(resource_of_lock(keys_of("a").state, key_preset::tagged));
    EXPECT_FALSE(resource_of_lock("fencelock:v1:{%4}:lock", key_preset::tagged));
}

TEST(keys, plain_keys_are_those_of_plain_clients)
{
    auto const keys = keys_of("order {7}", key_preset::plain);
    EXPECT_EQ(keys.lock, "lock:order {7}");
    EXPECT_EQ(keys.state, "fence:order {7}");
    EXPECT_EQ(keys.wake, "wake:order {7}");
}

} // namespace
} // namespace fencelock::detail
