// A partition that is detached loses the guard that it had by its parent: somebody has to be told.
#pragma once

#include "pg.hpp"

namespace fencelock {

// At the end of an ALTER TABLE: warns of each partition that it has detached from a guarded table,
// and that has no guard of its own. schema is the extension's.
void tell_detached_partitions(const EventTriggerData* event, Oid schema);

} // namespace fencelock
