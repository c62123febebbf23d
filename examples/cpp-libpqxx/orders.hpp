// Orders are changed by whoever holds their lock, and by nobody else.
#pragma once

#include <fencelock/fencelock.hpp>

#include <string>

/// Confirms an order that is new; false where it is not new (any more). Throws what
/// lock::transaction() throws: where the token is refused, fencelock::stale_token, and nothing was
/// written.
bool confirm(fencelock::lock& lock, long order);

/// The name of an order's lock: that of the guard's template, 'order:{id}'.
std::string resource_of(long order);
