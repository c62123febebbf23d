// Time. Everything that counts is measured on the steady clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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

/// SQL for a timestamp (since 1970) or an interval in whole milliseconds. It says whose operator it
/// means: PostgreSQL has none for an integer and a numeric, so one that somebody else put into a
/// schema of the search_path would be called.
inline std::string sql_milliseconds(std::string const& timestamp_or_interval)
{
    return "(pg_catalog.date_part('epoch', " + timestamp_or_interval +
           ") OPERATOR(pg_catalog.*) 1000::pg_catalog.float8)::pg_catalog.int8";
}

/// SQL for PostgreSQL's clock, in ms since 1970.
inline std::string sql_clock()
{
    return sql_milliseconds("pg_catalog.clock_timestamp()");
}

/// A server's clock, in ms since 1970, as of its last word. Both clocks may run at speeds of their
/// own, and the server's may be set.
class server_clock {
  public:
    /// The server said its time in an answer that has just been read.
    void note(std::int64_t ms)
    {
        ms_ = ms;
        read_at_ = steady::now();
    }

    /// False where there is no word of it, or none as new as this.
    bool is_known(steady::duration no_older_than) const
    {
        return ms_ && steady::now() - read_at_ <= no_older_than;
    }

    /// Of one that is known: the earliest time that it can show at local time `when`. It was looked
    /// at before the answer was read, so the true value is no less.
    std::int64_t at(steady::time_point when) const
    {
        return *ms_ + std::chrono::duration_cast<milliseconds>(when - read_at_).count();
    }

  private:
    std::optional<std::int64_t> ms_;
    steady::time_point read_at_{};
};

} // namespace fencelock::detail
