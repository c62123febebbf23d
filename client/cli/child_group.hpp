// A program that runs in a process group of its own.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace fencelock::cli {

/// The program could not be started.
struct exec_failure {
    int code; ///< errno
};

/// Has the terminal, where this process has it in the foreground.
class child_group {
  public:
    /// Starts `program` with `environment` (NAME=VALUE) and the signal mask `mask`. Throws
    /// exec_failure.
    child_group(std::vector<std::string> const& program,
                std::vector<std::string> const& environment, sigset_t const& mask);

    /// Gives the terminal back.
    ~child_group();
    child_group(child_group const&) = delete;
    child_group& operator=(child_group const&) = delete;

    /// To every process of the group.
    void send(int signal) noexcept;

    /// Collects what became of the program, after SIGCHLD. Where it was stopped from the terminal,
    /// this process stops as well until it is continued. The exit code (128 + n for a signal), once
    /// it has ended.
    std::optional<int> status();

    /// False once nobody is left, the program's own children included.
    bool any_left() const noexcept;

  private:
    [[noreturn]] void become(std::vector<char*> const& argv, std::vector<char*> const& envp,
                             sigset_t const& mask, int report) const noexcept;
    void stop_with_it();

    bool const has_terminal_;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

} // namespace fencelock::cli
