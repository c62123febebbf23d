// Waits for a condition, however busy the machine is.
#pragma once

#include <chrono>
#include <functional>

namespace fencelock::test_support {

// Long enough for a machine that is busy with other things; a test that passes never waits for it.
inline constexpr std::chrono::seconds generous_limit{120};

// Asks `condition` every few milliseconds until it is true. False where it did not become true
// within `limit`; an exception of the condition ends the wait.
[[nodiscard]] bool wait_until(std::function<bool()> const& condition,
                              std::chrono::milliseconds limit = generous_limit);

} // namespace fencelock::test_support
