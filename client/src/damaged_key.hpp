// Keys in Redis whose values are none of ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fencelock/redis_locks.hpp>

#include "clock.hpp"
#include "keys.hpp"

namespace fencelock::detail {

class redis_link;

/// True where a command or script failed because of a key's value: another type, or no number.
bool is_about_a_value(std::string_view reply);

/// What is wrong with the key of a lock, and what to do.
std::string told_of_lock(std::string const& key);

/// The same of whichever of the keys it is after such a reply: the server is asked once more.
/// Throws link_failure.
std::string told_of_damaged(redis_keys const& keys, key_preset preset, redis_link& link,
                            steady::time_point deadline);

} // namespace fencelock::detail
