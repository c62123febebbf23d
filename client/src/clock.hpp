// Time. Everything that counts is measured on the steady clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace fencelock::detail {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long `ttl` can be relied on by the holder, from the moment before the request was sent: less
/// 1 % + 2 ms for clocks that run at different speeds, but never less than half.
constexpr steady::duration reliable(milliseconds ttl)
{
    auto const drift = std::chrono::duration_cast<steady::duration>(ttl) / 100 + milliseconds{2};
    return ttl - std::min<steady::duration>(drift, steady::duration{ttl} / 2);
}

/// Whole milliseconds from `now` to `then`, at least 0.
inline milliseconds until(steady::time_point then, steady::time_point now = steady::now())
{
    return std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(then - now));
}

} // namespace fencelock::detail
