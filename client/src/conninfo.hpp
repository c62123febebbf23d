// Connection strings of PostgreSQL.
#pragma once

#include <string>

namespace fencelock::detail {

/// `conninfo` (keywords or URI) with UTF-8 as the encoding, and, where the caller says nothing, a
/// limit on connecting and a name in pg_stat_activity. Throws invalid_argument, without repeating
/// the string, which may hold a password.
std::string with_defaults(std::string const& conninfo);

} // namespace fencelock::detail
