// Whether a row is being written by a MERGE. There PostgreSQL shows a trigger the union of the SET
// lists of all actions, so the list does not tell whether the action that runs names a column.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Once, when the module is loaded. Statements that began before that are known only where they are
// the client's own.
void watch_merges();

bool inside_merge();

} // namespace fencelock
