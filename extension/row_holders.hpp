// Who holds a version of a row, read from its xmax.
#pragma once

#include "named_row.hpp"
#include "pg.hpp"

namespace fencelock {

struct row_holder {
    TransactionId transaction; // in progress and not this one; invalid where there is none
    // It holds the row as checks and issues do. Not so a prune, which deletes it, nor somebody who
    // has locked it by hand.
    bool by_claim_or_issue;
};

// One of those that hold the version in a way that conflicts with this mode.
row_holder holder_of(const row_version& version, LockTupleMode mode);

bool is_held(const row_version& version, LockTupleMode mode);

// Whether the snapshot does not see the version's writer (or, if asked, one of its remembered
// lockers) as finished.
bool is_behind(Snapshot snapshot, const row_version& version, bool with_lockers);

// How far the transactions that change or lock anything have come. Where it is the same again, none
// of them has finished in between; only that can be asked of it.
struct transaction_progress {
    TransactionId next;
    uint32 running;

    bool operator==(const transaction_progress&) const = default;
};

transaction_progress progress_now();

} // namespace fencelock
