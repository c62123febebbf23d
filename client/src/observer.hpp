// Counts and tells what happens.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include <fencelock/observation.hpp>

namespace fencelock::detail {

/// Thread-safe.
class observer {
  public:
    using counter = std::atomic<std::uint64_t>;

    explicit observer(std::function<void(log_entry const&)> log) : log_{std::move(log)} {}

    /// Calls the user's hook, whose exceptions are dropped.
    void tell(log_level level, std::string_view message, std::string_view resource,
              std::int64_t token = 0) noexcept;

    client_counters counters() const noexcept;

    counter acquired{0};
    counter contended{0};
    counter waits{0};
    counter released{0};
    counter lost{0};
    counter refused{0};
    counter renewals{0};
    counter failed_renewals{0};
    counter seeds{0};
    counter fallbacks{0};

  private:
    std::function<void(log_entry const&)> const log_;
};

} // namespace fencelock::detail
