// Programs that a test starts, and that end with it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fencelock::test_support {

struct child_options {
    std::vector<std::string> argv{};            // argv[0] is the program's full path
    std::vector<std::string> environment{};     // NAME=VALUE over the caller's, NAME to unset
    std::filesystem::path output{};             // stdout and stderr are appended to this file
    std::optional<std::string> user{};          // run as this user (the caller is root)
    int signal_on_parent_death = 9 /*SIGKILL*/; // sent where the test dies without a destructor
};

// A program started by the test and ended with it, always by its pid. Signals on the parent's
// death follow the *thread* that started it: start servers on a thread that outlives them.
class child_process {
  public:
    explicit child_process(child_options const& options);
    ~child_process(); // SIGKILL where it still runs
    child_process(child_process const&) = delete;
    child_process& operator=(child_process const&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool running(); // also collects the status of one that has ended
    void send(int signal);        // no-op where it has ended

    // Waits for the end; nullopt where it still runs after `limit`. The value is the exit status,
    // or 128 + the signal's number.
    std::optional<int> wait(std::chrono::milliseconds limit);

  private:
    pid_t pid_ = -1;
    pid_t owner_pid_;
    std::optional<int> status_;
};

// Where `program` lies in PATH or in the usual directories; nullopt where it is not installed.
std::optional<std::filesystem::path> find_program(std::string const& program);

// The end of a log, for error messages.
std::string tail_of(std::filesystem::path const& file, std::size_t bytes = 4000);

} // namespace fencelock::test_support
