// Tables that a command takes out of a guard's reach, or puts beside it: somebody has to be told.
#pragma once

#include "pg.hpp"

namespace fencelock {

// At the end of a command that creates or alters tables: warns of a partition that it has detached
// from a guarded table, and of a table that inherits from one by it, where that has no guard of its
// own. Needs no right of the current user on anything. schema is the extension's.
void tell_unguarded_tables(const EventTriggerData* event, Oid schema);

} // namespace fencelock
