#include "redis_url.hpp"

#include <gtest/gtest.h>

#include <fencelock/errors.hpp>
#include <fencelock/redis_locks.hpp>

namespace fencelock::detail {
namespace {

redis_address server_of(std::string_view url)
{
    return parse_redis_url(url).servers.at(0);
}

TEST(redis_url, a_host_alone_has_the_usual_port_and_database)
{
    auto const a = server_of("redis://localhost");
    EXPECT_EQ(a.host, "localhost");
    EXPECT_EQ(a.port, "6379");
    EXPECT_EQ(a.database, 0);
    EXPECT_TRUE(a.user.empty());
    EXPECT_TRUE(a.password.empty());
}

TEST(redis_url, each_part_is_found_in_its_place)
{
    auto const a = server_of("redis://me:p%40ss%3A@db.example:7000/3");
    EXPECT_EQ(a.host, "db.example");
    EXPECT_EQ(a.port, "7000");
    EXPECT_EQ(a.database, 3);
    EXPECT_EQ(a.user, "me");
    EXPECT_EQ(a.password, "p@ss:");
}

TEST(redis_url, a_password_may_stand_without_a_user)
{
    auto const a = server_of("redis://:secret@h/");
    EXPECT_TRUE(a.user.empty());
    EXPECT_EQ(a.password, "secret");
    EXPECT_EQ(a.database, 0);
}

TEST(redis_url, a_raw_at_sign_belongs_to_the_password)
{
    auto const a = server_of("redis://u:a@b@h");
    EXPECT_EQ(a.password, "a@b");
    EXPECT_EQ(a.host, "h");
}

TEST(redis_url, an_ipv6_address_stands_in_brackets)
{
    auto const a = server_of("redis://[::1]:6380");
    EXPECT_EQ(a.host, "::1");
    EXPECT_EQ(a.port, "6380");
    EXPECT_EQ(a.display(), "Redis at [::1]:6380");
}

TEST(redis_url, a_socket_is_a_path_and_its_database_a_parameter)
{
    EXPECT_EQ(server_of("unix:///run/redis.sock").socket_path, "/run/redis.sock");
    auto const a = server_of("redis+unix://u:p@/run/r%20s.sock?db=2");
    EXPECT_EQ(a.socket_path, "/run/r s.sock");
    EXPECT_EQ(a.user, "u");
    EXPECT_EQ(a.password, "p");
    EXPECT_EQ(a.database, 2);
}

TEST(redis_url, parameters_for_tls_go_before_options)
{
    EXPECT_FALSE(parse_redis_url("redis://h").tls);
    EXPECT_TRUE(parse_redis_url("rediss://h").tls->verify);
    redis_options options;
    options.tls.ca_file = "/option.pem";
    options.tls.key_file = "/key.pem";
    auto const target = parse_redis_url("rediss://u:p@h:7000/2?ca_file=/a%20b.pem&certificate_file="
                                        "/c.pem&server_name=redis.example&verify=no",
                                        options);
    EXPECT_EQ(target.servers.at(0).host, "h");
    EXPECT_EQ(target.servers.at(0).database, 2);
    EXPECT_EQ(target.tls->ca_file, "/a b.pem");
    EXPECT_EQ(target.tls->certificate_file, "/c.pem");
    EXPECT_EQ(target.tls->key_file, "/key.pem");
    EXPECT_EQ(target.tls->server_name, "redis.example");
    EXPECT_FALSE(target.tls->verify);
}

TEST(redis_url, tls_options_without_tls_are_refused)
{
    redis_options options;
    options.tls.ca_file = "/ca.pem";
    EXPECT_THROW(redis_locks("redis://h", options), invalid_argument);
    EXPECT_THROW(redis_locks("unix:///socket", options), invalid_argument);
}

TEST(redis_url, sentinels_have_a_login_of_their_own)
{
    auto const target = parse_redis_url("redis+sentinel://me:mine@s1:7,[::2],s3/the%20primary/3?"
                                        "sentinel_user=you&sentinel_password=yours");
    EXPECT_EQ(target.what, redis_target::kind::sentinels);
    EXPECT_EQ(target.primary_name, "the primary");
    EXPECT_EQ(target.login.user, "me");
    EXPECT_EQ(target.login.password, "mine");
    EXPECT_EQ(target.login.database, 3);
    ASSERT_EQ(target.servers.size(), 3U);
    EXPECT_EQ(target.servers[0].display(), "Redis at s1:7");
    EXPECT_EQ(target.servers[1].display(), "Redis at [::2]:26379");
    EXPECT_EQ(target.servers[2].display(), "Redis at s3:26379");
    for (auto const& sentinel : target.servers) {
        EXPECT_EQ(sentinel.user, "you");
        EXPECT_EQ(sentinel.password, "yours");
        EXPECT_EQ(sentinel.database, 0);
    }
    EXPECT_TRUE(parse_redis_url("redis+sentinel://me:mine@s/p").servers.at(0).password.empty());
    EXPECT_TRUE(parse_redis_url("rediss+sentinel://s/p").tls);
}

TEST(redis_url, clusters_have_nodes_to_start_from)
{
    auto const target = parse_redis_url("rediss+cluster://me:mine@n1:7,n2?verify=no");
    EXPECT_EQ(target.what, redis_target::kind::cluster);
    ASSERT_EQ(target.servers.size(), 2U);
    EXPECT_EQ(target.servers[1].display(), "Redis at n2:6379");
    EXPECT_EQ(target.servers[1].password, "mine");
    EXPECT_EQ(target.login.user, "me");
    EXPECT_FALSE(target.tls->verify);
}

TEST(redis_url, bad_ones_are_refused_without_repeating_them)
{
    for (auto const* url : {"",
                            "localhost",
                            "http://h",
                            "redis://",
                            "redis://:6379",
                            "redis://h:0",
                            "redis://h:65536",
                            "redis://h:x",
                            "redis://h:",
                            "redis://h/x",
                            "redis://h/-1",
                            "redis://h/1/2",
                            "redis://[::1",
                            "redis://[::1]x",
                            "redis://user@h",
                            "unix://relative",
                            "unix:///p?x=1",
                            "unix:///p?db=",
                            "redis://u:hunter2%4@h",
                            "redis://u:hunter2%zz@h",
                            "redis://u:hunter2@",
                            "redis://u:hunter2@:1",
                            "redis://h?ca_file=/ca.pem",
                            "rediss://h?verify=maybe",
                            "rediss://h?hunter2=1",
                            "rediss://h?ca_file",
                            "rediss://h?",
                            "rediss:h",
                            "redis+sentinel://s1,s2",
                            "redis+sentinel://s1,,s2/p",
                            "redis+sentinel://s1/p?sentinel_user=hunter2",
                            "redis+sentinel://s1/p/x",
                            "redis+cluster://n1,",
                            "redis+cluster://n1/1",
                            "redis+cluster://n1?sentinel_user=hunter2",
                            "redis+else://n1",
                            "redis://u:hunter2%00@h",
                            "unix:///p%00",
                            "rediss://h?ca_file=/ca.pem%00",
                            "redisss://h"}) {
        try {
            redis_locks{url};
            ADD_FAILURE() << url;
        } catch (invalid_argument const& e) {
            EXPECT_EQ(std::string{e.what()}.find("hunter2"), std::string::npos);
        }
    }
}

TEST(redis_url, what_is_displayed_holds_no_secret)
{
    auto const shown = server_of("redis://alice:hunter2@h:7000").display();
    EXPECT_EQ(shown, "Redis at h:7000");
}

TEST(redis_url, options_outside_their_limits_are_refused)
{
    redis_options options;
    options.block_size = 0;
    EXPECT_THROW(redis_locks("redis://h", options), invalid_argument);
    options = {};
    options.command_timeout = std::chrono::milliseconds{0};
    EXPECT_THROW(redis_locks("redis://h", options), invalid_argument);
}

} // namespace
} // namespace fencelock::detail
