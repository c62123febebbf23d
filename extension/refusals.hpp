// What becomes of a refused token: an error, or a warning where enforcement is relaxed; counted
// either way.
#pragma once

#include "errors.hpp"

namespace fencelock {

// Returns only where fencelock.enforce makes a warning of it.
void refuse_token(const verdict& refused, std::string_view resource, const guarded_place* place);

// LF002. Returns only where it is a warning, by fencelock.enforce or by the guard's own
// unfenced=warn.
void refuse_unfenced(bool guard_only_warns, std::string_view resource, const guarded_place& place);

} // namespace fencelock
