// Ending the session of a stopped holder that keeps its successor waiting.
#pragma once

#include "pg.hpp"

namespace fencelock {

// A row that cannot be had before a transaction ends.
struct blocked_row {
    Relation heap;
    ItemPointer tid;
    bool may_preempt; // the transaction is what the setting is meant for
    token waiting;    // no_token: it is an issue that waits, not a check
    token holding;    // lower than waiting
};

// Waits for the transaction to end; after that the caller looks again. Where
// fencelock.preempt_after applies and that time is over, it returns as well, with overdue set: what
// the row and the issues say by then decides whether the transaction is still in the way with an
// older token. If so, the next call ends its session, and waits for that. A prepared transaction
// has no session, and is only named in a warning. Deadlocks and lock_timeout are raised as ever.
void wait_for_transaction(TransactionId holder, const blocked_row& blocked, TransactionId& overdue);

} // namespace fencelock
