// Keeping the indexes of our own tables right: the primary key, its copy while it is rebuilt
// concurrently, and whatever else somebody may have created on them.
#pragma once

#include "installation.hpp"
#include "pg.hpp"
#include "pg_compat.hpp"

namespace fencelock {

// Inserts the entries of a new version of a row, into every index that takes some. With
// speculative, a name that stands in an index already is no error: false, and the caller has to
// take the version back.
bool insert_index_entries(const opened_table& table, HeapTuple tuple, compat::index_need need,
                          bool speculative);

} // namespace fencelock
