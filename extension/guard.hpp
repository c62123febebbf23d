// The guard: the trigger that refuses a write which presents no token, or one that is not accepted.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Runs as a BEFORE ROW trigger and returns the row to be written, with the accepted token in its
// token column; as a BEFORE TRUNCATE trigger it refuses. Errors: LF001 to LF004 and those of
// guard_config.
HeapTuple run_guard(TriggerData* trigger);

} // namespace fencelock
