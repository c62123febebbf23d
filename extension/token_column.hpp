// Writing the token column of a row that is on its way to the table.
#pragma once

#include "pg.hpp"

namespace fencelock {

// A copy of the tuple with this token in the (bigint) column; NULL for no_token.
HeapTuple write_token_column(HeapTuple tuple, Relation table, AttrNumber column, token value);

} // namespace fencelock
