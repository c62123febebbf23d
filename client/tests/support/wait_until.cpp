#include "wait_until.hpp"

#include <thread>

namespace fencelock::test_support {

bool wait_until(std::function<bool()> const& condition, std::chrono::milliseconds limit)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return true;
}

} // namespace fencelock::test_support
