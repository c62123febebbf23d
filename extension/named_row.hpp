// Rows of the extension's own tables, found by the text in their first column and read as they are
// now, not as of the transaction's snapshot. Uses the heap and index access methods directly: no
// plan, no snapshot, no executor.
//
// A row's versions form a chain. At any time at most one of them is settled (written by a
// transaction that has committed, or by this one, and replaced by nobody who has committed); behind
// it may lie versions that one other transaction in progress has written.
#pragma once

#include "hashed_name.hpp"
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
row_versions find_row(const opened_table& table, const hashed_name& name);

// Column number (from 1) of a version of the row.
Datum column_of(const opened_table& table, HeapTuple tuple, int column, bool& is_null);

// The same for a column of text, null where it is NULL; and for a number, 0 where it is NULL.
const text* text_column(const opened_table& table, HeapTuple tuple, int column);
int64 bigint_column(const opened_table& table, HeapTuple tuple, int column);

} // namespace fencelock
