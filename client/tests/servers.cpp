#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace fencelock::test {

namespace {

template <typename Server>
std::unique_ptr<Server>& instance()
{
    static std::unique_ptr<Server> server;
    return server;
}

// Ends the servers before main() returns.
class shared_servers : public ::testing::Environment {
  public:
    void TearDown() override
    {
        instance<test_support::postgres_server>().reset();
        instance<test_support::redis_server>().reset();
    }
};

[[maybe_unused]] auto* const registered = ::testing::AddGlobalTestEnvironment(new shared_servers);

} // namespace

test_support::postgres_server& shared_postgres()
{
    auto& server = instance<test_support::postgres_server>();
    if (!server) {
        server = std::make_unique<test_support::postgres_server>();
        install_extension(*server);
    }
    return *server;
}

test_support::redis_server& shared_redis()
{
    auto& server = instance<test_support::redis_server>();
    if (!server)
        server = std::make_unique<test_support::redis_server>();
    return *server;
}

void install_extension(test_support::postgres_server& server)
{
    server.query("CREATE SCHEMA \"Fence it\"");
    server.query("CREATE EXTENSION fencelock SCHEMA \"Fence it\"");
}

std::string new_resource()
{
    static std::atomic<int> count{0};
    return "test:" + std::to_string(++count);
}

std::string lock_key(std::string const& resource)
{
    return "fencelock:v1:{" + resource + "}:lock";
}

std::string state_key(std::string const& resource)
{
    return "fencelock:v1:{" + resource + "}:state";
}

std::int64_t mark_of(test_support::postgres_server& server, std::string const& resource)
{
    auto const mark = server.query("SELECT \"Fence it\".fence_token('" + resource + "')");
    return mark ? std::stoll(*mark) : 0;
}

} // namespace fencelock::test
