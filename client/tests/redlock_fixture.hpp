// Three servers of a Redlock, each behind a network that can misbehave.
#pragma once

#include "servers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fencelock::test {

class redlock_fixture : public ::testing::Test {
  protected:
    struct one_server {
        explicit one_server(test_support::redis_options const& options) : redis{options} {}

        test_support::redis_server redis;
        test_support::tcp_proxy proxy{redis.socket_path()};
    };

    explicit redlock_fixture(test_support::redis_options const& options = {});

    /// The URLs of the proxies.
    std::vector<std::string> urls() const;

    test_support::redis_server& server(std::size_t i) { return servers.at(i)->redis; }
    test_support::tcp_proxy& proxy(std::size_t i) { return servers.at(i)->proxy; }

    /// What a server keeps of the resource's lock.
    std::optional<std::string> kept(std::size_t i);

    /// `token:attempt:owner` of this lock, whatever its attempt.
    static bool is_of(std::optional<std::string> const& value, lock const& held);

    /// On how many servers the lock is, with its token.
    int servers_with(lock const& held);

    /// A lock that all servers have a part in: one that is slow by chance is left out otherwise.
    lock acquire_everywhere(client& locks, acquire_options const& options = {});

    /// Until no server keeps anything of the resource's lock.
    bool nothing_is_left();

    /// As another client's that was granted the lock with this token would be.
    void take_for_others(std::size_t i, std::string const& value = "7:abc:somebody");

    /// No patience with servers is needed where all of them answer, but a busy machine may be slow.
    static constexpr auto patient = 20s;

    std::vector<std::unique_ptr<one_server>> servers;
    std::string resource = new_resource();
};

/// Nobody can issue a token of the resource while this lives.
class issue_blocker {
  public:
    explicit issue_blocker(std::string const& resource);

    /// Until a client waits for its token.
    static bool somebody_waits();

  private:
    pqxx::connection connection_;
    pqxx::work tx_;
};

} // namespace fencelock::test
