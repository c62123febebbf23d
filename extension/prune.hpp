// Bounded state: rows of resources that nobody uses any more are deleted, and one floor remembers
// them all.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Deletes the rows of resources that were issued here, have been idle for that many microseconds,
// have no running lease and are held by nobody; raises the floor to the highest token that was
// issued or accepted for any of them. Resources that were never issued here stay: their counters
// can't be told to jump over a floor. Returns how many were deleted.
int64 prune_idle_resources(int64 idle);

} // namespace fencelock
