// Sleeping between two attempts.
#pragma once

#include <stop_token>

#include "clock.hpp"

namespace fencelock::detail {

/// Evenly distributed, so that those who were turned away together do not come back together.
milliseconds random_pause(milliseconds least, milliseconds most);

/// Between two attempts where nothing tells when another is worth it: 100 to 200 ms.
inline milliseconds retry_pause()
{
    return random_pause(milliseconds{100}, milliseconds{200});
}

/// Returns at `end`, or once a stop is requested.
void pause_until(steady::time_point end, std::stop_token const& stop);

} // namespace fencelock::detail
