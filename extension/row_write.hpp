// Writing rows of the extension's own tables, past triggers and the executor, with their indexes.
#pragma once

#include "installation.hpp"
#include "named_row.hpp"
#include "pg.hpp"

namespace fencelock {

// Values of a row, in the order of the table's columns; the first is the name.
struct row_values {
    const Datum* values;
    const bool* nulls;
    int count;
};

// Locks a version as long as the (sub)transaction lasts. TM_Ok where done; any other result means
// that the version is no longer the newest or, with LockWaitSkip, that somebody holds it.
TM_Result lock_version(const opened_table& table, ItemPointer found, LockTupleMode mode,
                       LockWaitPolicy policy);

// Deletes a version that this transaction has locked or written.
void delete_row(const opened_table& table, ItemPointer found);

// Inserts as ON CONFLICT does: false, and nothing inserted, where another version of the name is in
// the way or was a moment ago; then look again. Never waits for another transaction.
bool insert_row(const opened_table& table, row_values row);

// Replaces a version that this transaction has locked or written, and makes the new one visible to
// its later commands.
void update_row(const opened_table& table, ItemPointer found, row_values row);

// Replaces a version that it need not have locked: false, and nothing done, where that is no longer
// the newest, or somebody else holds it. Never waits.
bool replace_row(const opened_table& table, ItemPointer found, row_values row);

} // namespace fencelock
