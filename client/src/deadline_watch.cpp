#include "deadline_watch.hpp"

#include <sys/socket.h>

#include <utility>

namespace fencelock::detail {

deadline_watch::~deadline_watch()
{
    {
        std::lock_guard const guard{mutex_};
        ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable())
        thread_.join();
}

deadline_watch::scope::scope(deadline_watch& watch, int fd, steady::time_point deadline)
    : watch_{watch}
{
    std::lock_guard const guard{watch_.mutex_};
    if (!watch_.thread_.joinable())
        watch_.thread_ = std::thread{[&w = watch_] { w.run(); }};
    call_ = watch_.calls_.emplace(deadline, fd);
    if (deadline < watch_.sleeps_until_) // else it comes in time by itself
        watch_.changed_.notify_one();
}

deadline_watch::scope::~scope()
{
    std::lock_guard const guard{watch_.mutex_};
    watch_.calls_.erase(call_);
}

void deadline_watch::run()
{
    std::unique_lock guard{mutex_};
    while (!ending_) {
        auto const now = steady::now();
        auto next = calls_.begin();
        for (; next != calls_.end() && next->first <= now; ++next)
            if (int const fd = std::exchange(next->second, -1); fd >= 0)
                ::shutdown(fd, SHUT_RDWR);
        sleeps_until_ = next == calls_.end() ? steady::time_point::max() : next->first;
        if (next == calls_.end())
            changed_.wait(guard);
        else
            changed_.wait_until(guard, steady::time_point{sleeps_until_});
        sleeps_until_ = steady::time_point::min();
    }
}

} // namespace fencelock::detail
