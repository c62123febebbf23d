// As much of a backend as the parsers of the extension need, so that a fuzzer can run them by
// itself, a million times faster than SQL would: memory that sanitizers watch, errors as
// exceptions, one table with the columns "id", "n" and "at".
#pragma once

#include "pg.hpp"

#include <string>

namespace fuzz {

/// What ereport(ERROR) would have been.
struct raised {};

/// Frees what has been allocated by palloc() while it lived.
struct memory_of_one_input {
    memory_of_one_input() = default;
    ~memory_of_one_input();
    memory_of_one_input(memory_of_one_input const&) = delete;
    memory_of_one_input& operator=(memory_of_one_input const&) = delete;
};

Relation table();
TupleTableSlot* row();
/// The same row as a tuple.
HeapTuple tuple();

/// The value of a column of the row, as text; null where there is no such column.
char const* column_value(std::string const& name);

/// SET fencelock.claims; false where it is refused, and the old value stays.
bool set_claims(std::string const& text);

} // namespace fuzz
