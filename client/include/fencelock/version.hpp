// Which library this is.
#pragma once

#include <fencelock/export.hpp>

namespace fencelock {

/// The version of the library that is linked, as `major.minor.patch`.
FENCELOCK_EXPORT char const* version() noexcept;

} // namespace fencelock
