// A Redis server of the test's own.
#pragma once

#include "local_server.hpp"

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
// free port of 127.0.0.1 and on a unix socket.
class redis_server final : public local_server {
  public:
    explicit redis_server(redis_options options = {}); // started, and answering
    ~redis_server();

    void stop();          // orderly: SIGTERM
    void kill9();         // SIGKILL
    void restart();       // stop and start: what was persisted is there again
    void restart_empty(); // kill9, all files removed, start: the server has lost its memory
    void pause();         // SIGSTOP; returns when it has really stopped
    void resume();        // SIGCONT

    [[nodiscard]] std::filesystem::path socket_path() const;
    [[nodiscard]] std::string url() const;        // redis://[:password@]127.0.0.1:PORT
    [[nodiscard]] std::string socket_url() const; // unix://[:password@]PATH

    // One command through a connection of its own on the unix socket, independent of the code
    // under test. nullopt for nil, arrays one element a line; an error reply is thrown.
    std::optional<std::string> command(std::vector<std::string> const& arguments) const;

  private:
    [[nodiscard]] child_options program() const override;
    [[nodiscard]] bool answers() const override;
    [[nodiscard]] std::string configuration_file() const;

    redis_options options_;
};

} // namespace fencelock::test_support
