// What a client does, for metrics and logs.
#pragma once

#include <cstdint>
#include <string>

#include <fencelock/export.hpp>

namespace fencelock {

/// What a client and its locks have done since the client was made. Each number only grows; they
/// are read one after the other, so they may be a few events apart.
struct client_counters {
    std::uint64_t acquired = 0;        ///< locks handed to callers
    std::uint64_t contended = 0;       ///< attempts that met another owner's lease
    std::uint64_t waits = 0;           ///< acquires that waited for another owner
    std::uint64_t released = 0;        ///< leases ended by their holders
    std::uint64_t lost = 0;            ///< leases that ended otherwise while they were held
    std::uint64_t refused = 0;         ///< of these, those whose token the database refused
    std::uint64_t renewals = 0;        ///< leases extended
    std::uint64_t failed_renewals = 0; ///< renewals in the background that were not answered
    std::uint64_t seeds = 0;           ///< blocks of tokens reserved in PostgreSQL for Redis
    std::uint64_t fallbacks = 0;       ///< leases taken in PostgreSQL because Redis was away
};

/// The sums, for a program that has several clients.
FENCELOCK_EXPORT client_counters operator+(client_counters const& one,
                                           client_counters const& other) noexcept;

/// The counters in Prometheus' text format, for a page that it scrapes or a file that the textfile
/// collector of its node exporter reads: fencelock_client_acquired_total and so on, without labels.
FENCELOCK_EXPORT std::string prometheus_text(client_counters const& counters);

enum class log_level {
    info,    ///< rare, and as it should be
    warning, ///< somebody may want to look into it
};

/// Something that happened. The message is one line and names no secret; it may name the resource.
struct log_entry {
    log_level level = log_level::info;
    std::string message;
    std::string resource;   ///< empty where it is about none
    std::int64_t token = 0; ///< 0 where it is about none
};

} // namespace fencelock
