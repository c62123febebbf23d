// Ends blocking calls of libpq at their deadlines, which libpqxx has no means for.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "clock.hpp"

namespace fencelock::detail {

/// One thread, started with the first call to watch. At a deadline it shuts the call's socket down,
/// and the call returns with a broken connection.
class deadline_watch {
    using calls = std::multimap<steady::time_point, int>;

  public:
    deadline_watch() = default;
    ~deadline_watch();
    deadline_watch(deadline_watch const&) = delete;
    deadline_watch& operator=(deadline_watch const&) = delete;

    /// Watches the call that is made while this lives. `fd` must stay open as long; it must be a
    /// duplicate that libpq does not know, since libpq closes its own as it likes, and the number
    /// could be somebody else's by then.
    class scope {
      public:
        scope(deadline_watch& watch, int fd, steady::time_point deadline);
        ~scope();
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;

      private:
        deadline_watch& watch_;
        calls::iterator call_;
    };

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    calls calls_;
    bool ending_ = false;
    steady::time_point sleeps_until_{steady::time_point::min()}; // min: it is awake
    std::thread thread_;
};

} // namespace fencelock::detail
