// What servers have in common that a test starts on this machine.
#pragma once

#include "child_process.hpp"
#include "temporary_directory.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace fencelock::test_support {

// A server on a port of 127.0.0.1, which stays the same across restarts, with a directory of its
// own. Errors are std::runtime_error with the end of the server's log.
class local_server {
  public:
    local_server(local_server const&) = delete;
    local_server& operator=(local_server const&) = delete;

    void start(); // returns when it answers; no-op where it runs
    [[nodiscard]] bool running();

    [[nodiscard]] pid_t pid() const; // throws where it was stopped
    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::filesystem::path log_file() const;

  protected:
    local_server(std::string name, std::string const& directory_prefix);
    ~local_server() = default; // SIGKILL where it still runs

    void start_on_a_free_port();
    void send(int signal); // no-op where it does not run
    void end(int signal);  // returns when it has ended
    void kill() { process_.reset(); }

    [[nodiscard]] std::filesystem::path const& directory() const { return directory_.path(); }

  private:
    // What to start, but for the log.
    [[nodiscard]] virtual child_options program() const = 0;
    // Asks on the unix socket, which nobody else has: on the port another process might answer.
    [[nodiscard]] virtual bool answers() const = 0;

    std::string name_;
    temporary_directory directory_; // outlives the process
    int port_;
    std::unique_ptr<child_process> process_;
};

} // namespace fencelock::test_support
