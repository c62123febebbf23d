#pragma once

#include "child_process.hpp"
#include "temporary_directory.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fencelock::test_support {

struct redis_options {
    bool persistent = false;              // append-only file, flushed with every command
    std::string password{};               // of the default user; none where empty
    std::vector<std::string> arguments{}; // added to the command line, e.g. "--maxmemory", "1mb"
    std::string configuration{};          // lines of a configuration file, which a sentinel needs
};

// A private redis-server or valkey-server (FENCELOCK_REDIS_SERVER names another program), on a
// free port of 127.0.0.1 and on a unix socket, with its own directory. The port stays the same
// across restarts. Errors are std::runtime_error with the end of the server's log.
class redis_server {
  public:
    explicit redis_server(redis_options options = {}); // started, and answering
    ~redis_server();

    void start();         // returns when it answers PING; no-op where it runs
    void stop();          // orderly: SIGTERM
    void kill9();         // SIGKILL
    void restart();       // stop and start: what was persisted is there again
    void restart_empty(); // kill9, all files removed, start: the server has lost its memory
    void pause();         // SIGSTOP; returns when it has really stopped
    void resume();        // SIGCONT
    [[nodiscard]] bool running();

    [[nodiscard]] pid_t pid() const; // throws where it was stopped
    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::filesystem::path socket_path() const;
    [[nodiscard]] std::string url() const;        // redis://[:password@]127.0.0.1:PORT
    [[nodiscard]] std::string socket_url() const; // unix://[:password@]PATH

    // One command through a connection of its own on the unix socket, independent of the code
    // under test. nullopt for nil, arrays one element a line; an error reply is thrown.
    std::optional<std::string> command(std::vector<std::string> const& arguments) const;

  private:
    void launch();
    [[nodiscard]] bool answers() const;
    [[nodiscard]] std::string configuration_file() const;
    [[nodiscard]] std::filesystem::path log_file() const;

    redis_options options_;
    temporary_directory directory_{"fencelock-redis"};
    int port_;
    std::unique_ptr<child_process> process_;
};

} // namespace fencelock::test_support
