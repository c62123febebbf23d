// Waiting for the transactions that hold a row of fence_resource, and letting others see which
// token waits.
//
// A newer token waits for older ones; nobody waits for a newer one. Whoever waits announces its
// token, so that an older token that arrives meanwhile is refused: else overlapping transactions of
// an old token, which share the row, could keep the new one waiting for ever.
#pragma once

#include "errors.hpp"
#include "named_row.hpp"
#include "pg.hpp"

namespace fencelock {

// One check's place among those that wait, from begin_queue to leave_queue. All that it holds is
// given back with the (sub)transaction as well, so an error needs no clean-up.
struct row_queue {
    Relation heap;
    std::string_view resource;
    uint32 resource_hash;
    token presented;
    const place_source* guard; // null: the token is not presented by one
    bool announced;
    bool waited;              // for anybody, at any time
    TransactionId overdue;    // has been waited for as long as fencelock.preempt_after
    ItemPointerData position; // the version in whose line this check stands; invalid: in none
    LOCKMODE line_mode;       // and how
};

row_queue begin_queue(Relation heap, const hashed_name& resource, token presented,
                      const place_source* guard);
void leave_queue(row_queue& queue);

enum class queue_result : uint8 {
    look_again,   // something has changed, or may have
    newer_waits,  // a newer token waits already: this one's lease is over
    nobody_waits, // only from stand_behind_waiters
};

// Takes one step towards locking the version in this mode: stands in line at it, or, where it does
// already, waits for one of the transactions that hold it to end. bound is set to the newer token
// where one waits already.
// holding is the token that the version is held with.
queue_result wait_for_row(row_queue& queue, const row_version& version, LockTupleMode mode,
                          token holding, token& bound);

// For a check that could share the version at once: whether others stand in line there, which it
// must not overtake.
queue_result stand_behind_waiters(row_queue& queue, const row_version& version, token& bound);

// For a check that could write the version at once, perhaps because this transaction holds it
// already: whether a newer token stands in line there, which sets newer.
bool does_newer_wait(const row_queue& queue, const row_version& version, token& newer);

} // namespace fencelock
