// Writing the token column of a row that is on its way to the table.
#pragma once

#include "pg.hpp"

namespace fencelock {

// A copy of the tuple with this token in the (bigint) column; NULL for no_token.
HeapTuple write_token_column(HeapTuple tuple, Relation table, AttrNumber column, token value);

// 0A000 where an INSERT that does not name the column would write a token into it: it has a default
// or is an identity column. NULL and 0 are no tokens.
void require_no_default_token(Relation table, AttrNumber column);

} // namespace fencelock
