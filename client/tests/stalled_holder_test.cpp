// The story that fencing is for: a holder is stopped past its TTL, and wakes when its successor has
// written.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace fencelock::test {
namespace {

class stalled_holder : public ::testing::Test {
  protected:
    static void SetUpTestSuite()
    {
        shared_postgres().query("CREATE TABLE IF NOT EXISTS guarded (name text PRIMARY KEY, status "
                                "text, fence_token bigint)");
        shared_postgres().query("SELECT \"Fence it\".fence_attach('guarded', '{name}')");
    }

    std::string output() const
    {
        std::ostringstream text;
        text << std::ifstream{output_file}.rdbuf();
        return text.str();
    }

    // What the holder says behind `word`; waits until it has said it.
    std::string said(std::string const& word) const
    {
        EXPECT_TRUE(wait_until([&] {
            auto const text = output();
            auto const at = text.find(word + " ");
            return at != std::string::npos && text.find('\n', at) != std::string::npos;
        })) << output();
        auto const text = output();
        auto const begin = text.find(word + " ") + word.size() + 1;
        return text.substr(begin, text.find('\n', begin) - begin);
    }

    test_support::child_process start_holder(std::string const& ttl_ms) const
    {
        return test_support::child_process{
            {.argv = {HOLDER_PROGRAM, shared_redis().socket_url(), shared_postgres().conninfo(),
                      resource, ttl_ms, go_file},
             .output = output_file}};
    }

    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo()};
    std::string resource = new_resource();
    test_support::temporary_directory directory{"fencelock-holder"};
    std::string output_file = directory.path() / "output";
    std::string go_file = directory.path() / "go";
};

TEST_F(stalled_holder, does_not_write_over_its_successor)
{
    auto holder = start_holder("1000");
    auto const former_token = std::stoll(said("token"));
    holder.send(SIGSTOP);
    auto successor = locks.acquire(resource, {.wait = 120s});
    EXPECT_GT(successor.token(), former_token);
    successor.transaction([&](pqxx::work& tx) {
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) + ", 'successor')");
    });
    std::ofstream{go_file};
    holder.send(SIGCONT);
    auto const result = said("result");
    EXPECT_TRUE(result == "lock_lost" || result == "stale_token") << result;
    EXPECT_TRUE(holder.wait(120s));
    EXPECT_EQ(shared_postgres()
                  .query("SELECT status FROM guarded WHERE name = '" + resource + "'")
                  .value(),
              "successor");
    EXPECT_TRUE(successor.renew()); // the former holder's end did not touch it
}

TEST_F(stalled_holder, that_was_killed_blocks_nobody_beyond_its_ttl)
{
    auto holder = start_holder("300");
    auto const former_token = std::stoll(said("token"));
    holder.send(SIGKILL);
    EXPECT_TRUE(holder.wait(120s));
    EXPECT_GT(locks.acquire(resource, {.wait = 120s}).token(), former_token);
}

} // namespace
} // namespace fencelock::test
