// TLS: who is trusted, who is not, and that its absence or failure is told at once.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/certificates.hpp"
#include "support/socket.hpp"

namespace fencelock::test {
namespace {

class tls : public ::testing::Test {
  protected:
    // A Redis with TLS on a port of its own, beside the plain one that the test itself uses.
    struct tls_server {
        int port;
        std::unique_ptr<test_support::redis_server> server;

        explicit tls_server(bool asks_for_certificate, std::string const& name = "IP:127.0.0.1",
                            std::vector<std::string> const& more = {},
                            std::string const& configuration = {})
        {
            auto const certificate = certs().issue(name.substr(name.find(':') + 1), name);
            for (int attempt = 1; !server; ++attempt) {
                port = test_support::free_port();
                try {
                    std::vector<std::string> arguments{
                        "--tls-port",         std::to_string(port),
                        "--tls-cert-file",    certificate,
                        "--tls-key-file",     test_support::certificates::key_of(certificate),
                        "--tls-ca-cert-file", certs().authority(),
                        "--tls-auth-clients", asks_for_certificate ? "yes" : "no"};
                    arguments.insert(arguments.end(), more.begin(), more.end());
                    server =
                        std::make_unique<test_support::redis_server>(test_support::redis_options{
                            .arguments = arguments, .configuration = configuration});
                } catch (std::runtime_error const&) {
                    if (attempt == 5)
                        throw; // else somebody else took the port for TLS
                }
            }
        }

        std::string url(std::string const& scheme = "rediss") const
        {
            return scheme + "://127.0.0.1:" + std::to_string(port);
        }
    };

    static void TearDownTestSuite() { certificates_.reset(); }

    static test_support::certificates& certs()
    {
        if (!certificates_)
            certificates_ = std::make_unique<test_support::certificates>();
        return *certificates_;
    }

    static std::string authority() { return certs().authority().string(); }

    // Takes, renews, and releases a lock there.
    void locks_work(std::string const& url, tls_options const& options) const
    {
        redis_options redis_with_tls;
        redis_with_tls.tls = options;
        redis_locks redis{url, redis_with_tls};
        client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
        auto lock = locks.acquire(resource, {.wait = 60s});
        EXPECT_EQ(lock.issuer_name(), "redis");
        EXPECT_TRUE(lock.renew());
        EXPECT_EQ(lock.release(), release_outcome::released);
    }

    // What the refusal says.
    std::string refusal_of(std::string const& url, tls_options const& options) const
    {
        redis_options redis_with_tls;
        redis_with_tls.tls = options;
        try {
            redis_locks redis{url, redis_with_tls};
            client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
            locks.try_acquire(resource);
        } catch (configuration_error const& e) {
            return e.what();
        }
        return "accepted";
    }

    std::string resource = new_resource();

  private:
    static inline std::unique_ptr<test_support::certificates> certificates_;
};

TEST_F(tls, a_server_of_a_trusted_authority_is_used)
{
    tls_server const server{false};
    locks_work(server.url(), {.ca_file = authority()});
    locks_work(server.url() + "/1?ca_file=" + authority(), {});
}

TEST_F(tls, sentinels_and_the_primary_that_they_name_are_trusted_alike)
{
    tls_server const primary{false};
    tls_server const sentinel{false,
                              "IP:127.0.0.1",
                              {"--sentinel", "--tls-replication", "yes"},
                              "sentinel monitor primary 127.0.0.1 " + std::to_string(primary.port) +
                                  " 1\n"};
    locks_work(sentinel.url("rediss+sentinel") + "/primary", {.ca_file = authority()});
    EXPECT_NE(refusal_of(sentinel.url("rediss+sentinel") + "/primary", {}).find("verify failed"),
              std::string::npos);
}

TEST_F(tls, a_sentinel_that_is_not_trusted_does_not_keep_the_others_from_being_asked)
{
    tls_server const primary{false};
    auto const sentinel_for = [&](std::string const& name) {
        return tls_server{false,
                          name,
                          {"--sentinel", "--tls-replication", "yes"},
                          "sentinel monitor primary 127.0.0.1 " + std::to_string(primary.port) +
                              " 1\n"};
    };
    auto const strange = sentinel_for("DNS:strange.example");
    auto const known = sentinel_for("IP:127.0.0.1");
    auto const both = strange.url("rediss+sentinel") + ",127.0.0.1:" + std::to_string(known.port);
    locks_work(both + "/primary", {.ca_file = authority()});
    EXPECT_NE(refusal_of(strange.url("rediss+sentinel") + "/primary", {.ca_file = authority()})
                  .find("IP address mismatch"),
              std::string::npos);
}

TEST_F(tls, a_cluster_is_used_by_tls_throughout)
{
    tls_server const node{
        false, "IP:127.0.0.1", {"--cluster-enabled", "yes", "--tls-cluster", "yes"}};
    std::vector<std::string> all_slots{"CLUSTER", "ADDSLOTS"};
    for (int slot = 0; slot < 16384; ++slot)
        all_slots.push_back(std::to_string(slot));
    node.server->command(all_slots);
    locks_work(node.url("rediss+cluster"), {.ca_file = authority()});
}

TEST_F(tls, a_server_of_an_unknown_authority_is_refused)
{
    tls_server const server{false};
    EXPECT_NE(refusal_of(server.url(), {}).find("certificate verify failed"), std::string::npos);
    test_support::certificates const others;
    EXPECT_NE(refusal_of(server.url(), {.ca_file = others.authority().string()})
                  .find("certificate verify failed"),
              std::string::npos);
    locks_work(server.url(), {.verify = false});
}

TEST_F(tls, the_name_of_the_server_has_to_be_its_certificates)
{
    tls_server const server{false, "DNS:redis.example"};
    auto const refusal = refusal_of(server.url(), {.ca_file = authority()});
    EXPECT_NE(refusal.find("IP address mismatch"), std::string::npos) << refusal;
    auto const other =
        refusal_of(server.url(), {.ca_file = authority(), .server_name = "other.example"});
    EXPECT_NE(other.find("ostname mismatch"), std::string::npos) << other; // in capitals before 3.0
    locks_work(server.url(), {.ca_file = authority(), .server_name = "redis.example"});
}

TEST_F(tls, a_server_that_asks_for_a_certificate_gets_one)
{
    tls_server const server{true};
    auto const mine = certs().issue("client", "DNS:client.example");
    auto const key = test_support::certificates::key_of(mine).string();
    locks_work(server.url(),
               {.ca_file = authority(), .certificate_file = mine.string(), .key_file = key});
    // Its word on the missing one may get lost when it closes the connection.
    redis_locks without{server.url() + "?ca_file=" + authority()};
    client locks{without, shared_postgres().conninfo(), {.fall_back = false}};
    try {
        locks.try_acquire(resource);
        FAIL();
    } catch (error const& e) {
        EXPECT_NE(std::string{e.what()}.find("certificate"), std::string::npos) << e.what();
    }
}

TEST_F(tls, files_that_cannot_be_used_are_named)
{
    auto const nowhere = std::string{"/nonexistent/ca.pem"};
    auto const refusal = refusal_of("rediss://h", {.ca_file = nowhere});
    EXPECT_NE(refusal.find(nowhere), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("No such file"), std::string::npos) << refusal;
    EXPECT_NE(refusal_of("rediss://h", {.certificate_file = authority()}).find(authority()),
              std::string::npos); // it has no key
    EXPECT_THROW(refusal_of("rediss://h", {.key_file = nowhere}), invalid_argument);
}

TEST_F(tls, a_server_without_tls_is_told)
{
    auto url = shared_redis().url();
    url.replace(0, 5, "rediss");
    redis_locks redis{url, {.connect_timeout = 200ms, .tls = {.ca_file = authority()}}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    try {
        locks.try_acquire(resource);
        FAIL();
    } catch (issuer_unavailable const& e) {
        EXPECT_NE(std::string{e.what()}.find("TLS handshake"), std::string::npos) << e.what();
    }
}

TEST_F(tls, a_server_that_freezes_in_the_handshake_is_given_up_in_time)
{
    tls_server const server{false};
    test_support::tcp_proxy proxy{"127.0.0.1", server.port};
    redis_locks redis{"rediss://127.0.0.1:" + std::to_string(proxy.port()),
                      {.connect_timeout = 200ms, .tls = {.ca_file = authority()}}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    proxy.hold_replies();
    EXPECT_THROW(locks.try_acquire(resource), issuer_unavailable);
    proxy.release();
    EXPECT_TRUE(locks.try_acquire(resource, {.wait = 60s}));
}

TEST_F(tls, a_connection_that_is_cut_while_idle_is_made_anew)
{
    tls_server const server{false};
    test_support::tcp_proxy proxy{"127.0.0.1", server.port};
    redis_locks redis{"rediss://127.0.0.1:" + std::to_string(proxy.port()),
                      {.tls = {.ca_file = authority()}}};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    for (int i = 0; i < 3; ++i) {
        locks.acquire(resource, {.wait = 60s}).release();
        EXPECT_EQ(proxy.connections(), static_cast<std::uint64_t>(i + 1)); // idle ones are used
        locks.acquire(resource).release();
        EXPECT_EQ(proxy.connections(), static_cast<std::uint64_t>(i + 1));
        proxy.cut_all();
    }
}

} // namespace
} // namespace fencelock::test
