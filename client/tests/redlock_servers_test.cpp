// The servers of a Redlock as one of them goes away: what is left there keeps nobody waiting.
#include "redlock_servers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/socket.hpp"

namespace fencelock::detail {
namespace {

using namespace std::chrono_literals;

class redlock_servers_test : public ::testing::Test {
  protected:
    // More than could be waited for one after the other: each takes a part of a second.
    static constexpr int many = 20'000;

    server_request const request{&redlock_release_script, {"lock", "wake"}, {"o", "7", ""}, false};
    round_rules const rules{[](server_answer const& answer) { return !answer.words.empty(); },
                            [](server_answer const&) { return true; }, request};

    // Until all of it has been done, or left.
    void undo_many_at(std::string const& url)
    {
        auto const pool = std::make_shared<redis_pool>(parse_redis_url(url), redis_options{});
        redlock_servers servers{{pool}, std::make_shared<observer>(nullptr)};
        auto const answers = servers.ask_all(request, steady::now() + 100ms, rules);
        EXPECT_FALSE(answers[0] && !answers[0]->words.empty());
        for (int i = 0; i < many; ++i)
            servers.undo(0, request);
    }
};

TEST_F(redlock_servers_test,
       many_locks_to_be_given_back_at_a_server_that_is_away_are_left_to_the_ttl)
{
    undo_many_at("unix:///nonexistent/redis.sock");
}

TEST_F(redlock_servers_test, many_locks_to_be_given_back_at_a_frozen_server_are_left_to_the_ttl)
{
    auto const port = test_support::free_port();
    auto const listener = test_support::listen_on(port); // the kernel accepts, nobody answers
    undo_many_at("redis://127.0.0.1:" + std::to_string(port));
}

} // namespace
} // namespace fencelock::detail
