// Connection strings of PostgreSQL.
#pragma once

#include <chrono>
#include <string>

namespace fencelock::detail {

/// `conninfo` (keywords or URI) with UTF-8 as the encoding, and, where the caller says nothing,
/// limits on connecting and on a network that is silent, and a name in pg_stat_activity. Throws
/// invalid_argument, without repeating the string, which may hold a password.
std::string with_defaults(std::string const& conninfo);

/// `complete`, as with_defaults() returned it, with no more than `most` for connecting to each
/// host; but 2 s are the least that libpq knows.
std::string with_connect_limit(std::string const& complete, std::chrono::milliseconds most);

} // namespace fencelock::detail
