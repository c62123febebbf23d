// Rows of the extension's own tables, found by the text in their first column and read as they are
// now, not as of the transaction's snapshot. Uses the heap and index access methods directly: no
// plan, no snapshot, no executor.
//
// A row's versions form a chain. At any time at most one of them is settled (written by a
// transaction that has committed, or by this one, and replaced by nobody who has committed); behind
// it may lie versions that one other transaction in progress has written.
#pragma once

#include "installation.hpp"
#include "pg.hpp"

namespace fencelock {

struct row_version {
    HeapTuple tuple;      // a palloc'd copy, null where there is no such version
    TransactionId writer; // in progress and not ours; invalid for the settled version
    uint32 speculative; // the writer's speculative insertion token, 0 where it is decided to insert

    bool exists() const { return tuple != nullptr; }
    ItemPointer tid() const { return &tuple->t_self; }
};

struct row_versions {
    row_version settled;
    row_version pending; // the newest version of the transaction in progress

    bool none() const { return !settled.exists() && !pending.exists(); }
    const row_version& oldest() const { return settled.exists() ? settled : pending; }
};

// The versions of the row with that name.
row_versions find_row(const opened_table& table, std::string_view name);

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

// Column number (from 1) of a version of the row.
Datum column_of(const opened_table& table, HeapTuple tuple, int column, bool& is_null);

} // namespace fencelock
