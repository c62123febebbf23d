// Signals as messages, taken one by one instead of interrupting.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace fencelock::cli {

/// From its making on, the signals that a program is ended, stopped or told something with are kept
/// for next(), in this thread and in all that it starts later: make it before any of them. Signals
/// that the process was started to ignore (nohup) stay ignored.
class signal_inbox {
  public:
    signal_inbox();

    /// The next signal; nothing where none came within `limit`.
    std::optional<int> next(std::optional<std::chrono::milliseconds> limit = std::nullopt);

    /// Makes next() return wake_signal(). From any thread.
    static void wake() noexcept;
    static int wake_signal() noexcept;

    /// What was blocked before, for a child to start with.
    sigset_t const& original_mask() const noexcept { return original_; }

  private:
    sigset_t taken_;
    sigset_t original_;
};

} // namespace fencelock::cli
