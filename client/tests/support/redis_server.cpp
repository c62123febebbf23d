#include "redis_server.hpp"
#include "socket.hpp"
#include "wait_until.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <hiredis/hiredis.h>
#include <stdexcept>
#include <utility>

namespace fencelock::test_support {

namespace {

struct free_context {
    void operator()(redisContext* context) const { redisFree(context); }
};
struct free_reply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using context_ptr = std::unique_ptr<redisContext, free_context>;
using reply_ptr = std::unique_ptr<redisReply, free_reply>;

// hiredis writes without a guard against SIGPIPE, and a server that is demoted closes all its
// connections. Only for this thread, so that a signal raised by the code under test still ends the
// test.
class blocked_sigpipe {
  public:
    blocked_sigpipe()
    {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~blocked_sigpipe()
    {
        timespec const at_once{};
        while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    blocked_sigpipe(blocked_sigpipe const&) = delete;
    blocked_sigpipe& operator=(blocked_sigpipe const&) = delete;

  private:
    sigset_t pipe_{};
    sigset_t before_{};
};

std::string server_program()
{
    std::vector<std::string> names{"redis-server", "valkey-server"};
    if (char const* chosen = std::getenv("FENCELOCK_REDIS_SERVER"); chosen != nullptr && *chosen)
        names = {chosen};
    for (auto const& name : names) {
        if (name.find('/') != std::string::npos)
            return name;
        if (auto found = find_program(name))
            return found->string();
    }
    throw std::runtime_error{names.front() + " is not installed"};
}

reply_ptr ask(redisContext* context, std::vector<std::string> const& arguments)
{
    std::vector<char const*> texts;
    std::vector<std::size_t> lengths;
    for (auto const& argument : arguments) {
        texts.push_back(argument.data());
        lengths.push_back(argument.size());
    }
    return reply_ptr{static_cast<redisReply*>(
        redisCommandArgv(context, static_cast<int>(texts.size()), texts.data(), lengths.data()))};
}

std::optional<std::string> text_of(redisReply const& reply)
{
    switch (reply.type) {
    case REDIS_REPLY_NIL:
        return std::nullopt;
    case REDIS_REPLY_INTEGER:
        return std::to_string(reply.integer);
    case REDIS_REPLY_ARRAY: {
        std::string lines;
        for (std::size_t i = 0; i < reply.elements; ++i)
            lines += (i == 0 ? "" : "\n") + text_of(*reply.element[i]).value_or("");
        return lines;
    }
    default:
        return std::string{reply.str, static_cast<std::size_t>(reply.len)};
    }
}

// 'T' in the third field of /proc/PID/stat; the name before it may hold anything but its own ')'.
bool is_stopped(pid_t pid)
{
    std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
    std::string line;
    std::getline(in, line);
    auto const end_of_name = line.rfind(')');
    return end_of_name != std::string::npos && line.size() > end_of_name + 2 &&
           line[end_of_name + 2] == 'T';
}

} // namespace

redis_server::redis_server(redis_options options)
    : local_server{"redis", "fencelock-redis"}, options_{std::move(options)}
{
    start_on_a_free_port();
}

redis_server::~redis_server() = default;

child_options redis_server::program() const
{
    // A socket file left by a killed server would make the new one seem to be there.
    std::filesystem::remove(socket_path());
    child_options child;
    child.argv = {server_program()};
    if (!options_.configuration.empty())
        child.argv.push_back(configuration_file());
    child.argv.insert(child.argv.end(),
                      {"--port", std::to_string(port()), "--bind", "127.0.0.1", "--unixsocket",
                       socket_path().string(), "--unixsocketperm", "777"});
    child.argv.insert(child.argv.end(), {"--dir", directory().string(), "--save", ""});
    child.argv.insert(child.argv.end(), {"--appendonly", options_.persistent ? "yes" : "no",
                                         "--appendfsync", "always", "--daemonize", "no"});
    if (!options_.password.empty())
        child.argv.insert(child.argv.end(), {"--requirepass", options_.password});
    child.argv.insert(child.argv.end(), options_.arguments.begin(), options_.arguments.end());
    return child;
}

bool redis_server::answers() const
{
    try {
        return command({"PING"}) == "PONG";
    } catch (std::runtime_error const&) {
        return false;
    }
}

void redis_server::stop()
{
    send(SIGCONT); // a paused one could not obey
    end(SIGTERM);
}

void redis_server::kill9()
{
    kill();
}

void redis_server::restart()
{
    stop();
    start();
}

void redis_server::restart_empty()
{
    kill9();
    for (auto const& entry : std::filesystem::directory_iterator{directory()})
        if (entry.path() != log_file())
            std::filesystem::remove_all(entry.path());
    start();
}

void redis_server::pause()
{
    pid_t const stopped = pid();
    send(SIGSTOP);
    if (!wait_until([stopped] { return is_stopped(stopped); }))
        throw std::runtime_error{"redis was not stopped by SIGSTOP"};
}

void redis_server::resume()
{
    send(SIGCONT);
}

std::filesystem::path redis_server::socket_path() const
{
    return directory() / "redis.sock";
}

// Written once: the server keeps in it what it has learned.
std::string redis_server::configuration_file() const
{
    auto const file = directory() / "redis.conf";
    if (!std::filesystem::exists(file))
        std::ofstream{file} << options_.configuration;
    return file;
}

std::string redis_server::url() const
{
    std::string const secret = options_.password.empty() ? "" : ":" + options_.password + "@";
    return "redis://" + secret + "127.0.0.1:" + std::to_string(port());
}

std::string redis_server::socket_url() const
{
    std::string const secret = options_.password.empty() ? "" : ":" + options_.password + "@";
    return "unix://" + secret + socket_path().string();
}

std::optional<std::string> redis_server::command(std::vector<std::string> const& arguments) const
{
    blocked_sigpipe const guard;
    timeval const limit{10, 0};
    context_ptr const context{redisConnectUnixWithTimeout(socket_path().c_str(), limit)};
    if (!context || context->err != 0 || redisSetTimeout(context.get(), limit) != REDIS_OK)
        throw std::runtime_error{"cannot connect to " + socket_path().string()};
    if (!options_.password.empty())
        (void)ask(context.get(), {"AUTH", options_.password});
    reply_ptr const reply = ask(context.get(), arguments);
    if (!reply)
        throw std::runtime_error{"no reply from redis: " + std::string{context->errstr}};
    if (reply->type == REDIS_REPLY_ERROR)
        throw std::runtime_error{std::string{reply->str, static_cast<std::size_t>(reply->len)}};
    return text_of(*reply);
}

} // namespace fencelock::test_support
