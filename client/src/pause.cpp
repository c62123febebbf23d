#include "pause.hpp"

#include <condition_variable>
#include <mutex>
#include <random>

namespace fencelock::detail {

milliseconds random_pause(milliseconds least, milliseconds most)
{
    thread_local std::minstd_rand random{std::random_device{}()};
    return milliseconds{
        std::uniform_int_distribution<milliseconds::rep>{least.count(), most.count()}(random)};
}

void pause_until(steady::time_point end, std::stop_token const& stop)
{
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock guard{mutex};
    changed.wait_until(guard, stop, end, [] { return false; });
}

} // namespace fencelock::detail
