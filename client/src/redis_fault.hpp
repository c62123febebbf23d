// What an error reply of Redis means.
#pragma once

#include <string_view>

namespace fencelock::detail {

/// The first word of the error: OOM, READONLY, ... Redis 6 wraps those of commands in scripts into
/// an ERR of its own, out of which they are taken here.
std::string_view code_of(std::string_view reply);

/// True where trying again is pointless until somebody changes something; false where the server
/// cannot serve now (loading, a replica, out of memory, too few replicas ...).
bool is_configuration(std::string_view reply);

/// True where the user lacks a right that the scripts need.
bool is_missing_right(std::string_view reply);

} // namespace fencelock::detail
