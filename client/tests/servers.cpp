#include "servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace fencelock::test {

namespace {

auto const main_thread = std::this_thread::get_id();

// The kernel ends a server with the thread that started it.
template <typename Server>
class shared_server {
  public:
    static Server& get(void (*prepare)(Server&))
    {
        if (server)
            return *server;
        if (std::this_thread::get_id() != main_thread)
            throw std::logic_error{"a shared server has to be used first outside a test's threads"};
        auto started = std::make_unique<Server>();
        prepare(*started);
        server = std::move(started);
        return *server;
    }

    static void end() { server.reset(); }

  private:
    static inline std::unique_ptr<Server> server;
};

// Ends the servers before main() returns.
class shared_servers : public ::testing::Environment {
  public:
    void TearDown() override
    {
        shared_server<test_support::postgres_server>::end();
        shared_server<test_support::redis_server>::end();
    }
};

// In a section of INFO; 0 where it is not there.
std::int64_t number_behind(std::string const& name, test_support::redis_server const& server,
                           std::string const& section)
{
    auto const told = server.command({"INFO", section}).value();
    auto const at = told.find(name);
    return at == std::string::npos ? 0 : std::stoll(told.substr(at + name.size()));
}

[[maybe_unused]] auto* const registered = ::testing::AddGlobalTestEnvironment(new shared_servers);

} // namespace

test_support::postgres_server& shared_postgres()
{
    return shared_server<test_support::postgres_server>::get(install_extension);
}

test_support::redis_server& shared_redis()
{
    return shared_server<test_support::redis_server>::get([](test_support::redis_server&) {});
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

std::int64_t calls_of(test_support::redis_server const& server, std::string const& command)
{
    return number_behind("cmdstat_" + command + ":calls=", server, "commandstats");
}

std::int64_t script_calls(test_support::redis_server const& server)
{
    return calls_of(server, "evalsha") + calls_of(server, "eval");
}

std::int64_t blocked_clients(test_support::redis_server const& server)
{
    return number_behind("blocked_clients:", server, "clients");
}

void add_smallest_user(test_support::redis_server const& server,
                       std::vector<std::string> const& more)
{
    std::vector<std::string> command{"ACL", "SETUSER", "fencelock", "on", ">secret"};
    for (auto const* right : {"~fencelock:*", "-@all", "+eval", "+evalsha", "+get", "+set", "+del",
                              "+hget", "+hmget", "+hset", "+hdel", "+hincrby", "+pexpire", "+pttl",
                              "+time", "+llen", "+lpush", "+info|replication"})
        command.emplace_back(right);
    command.insert(command.end(), more.begin(), more.end());
    server.command(command);
}

std::string conninfo_through(test_support::tcp_proxy const& proxy)
{
    return "host=127.0.0.1 user=postgres dbname=postgres sslmode=disable port=" +
           std::to_string(proxy.port());
}

std::int64_t mark_of(test_support::postgres_server& server, std::string const& resource)
{
    auto const mark = server.query("SELECT \"Fence it\".fence_token('" + resource + "')");
    return mark ? std::stoll(*mark) : 0;
}

std::int64_t issued(std::string const& resource)
{
    auto const found = shared_postgres().query(
        "SELECT issued FROM \"Fence it\".fence_issuer WHERE resource = '" + resource + "'");
    return found ? std::stoll(*found) : 0;
}

bool somebody_waits_in_postgres()
{
    return shared_postgres().query(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0";
}

} // namespace fencelock::test
