// Ids of grants.
#pragma once

#include <string>

namespace fencelock::detail {

/// 128 bits from the kernel, in hex: unlike a generator's of ours, never the same in a forked
/// child.
std::string new_owner_id();

} // namespace fencelock::detail
