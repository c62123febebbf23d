// Having a row to oneself, for as long as it takes.
#pragma once

#include "errors.hpp"
#include "named_row.hpp"
#include "pg.hpp"

namespace fencelock {

// Finds the row and locks it against everybody, waiting for whoever writes or holds it. The settled
// version is then the newest one; where there is none, nobody was inserting one either. With
// preempts, fencelock.preempt_after applies. told, if any, is what an error says that ends the
// wait.
row_versions find_and_lock_row(const opened_table& table, const hashed_name& name, bool preempts,
                               const explained_wait* told = nullptr);

} // namespace fencelock
