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

// Waits until the transaction has ended. Where fencelock.preempt_after is set and applies, its
// session is ended after that time; a prepared transaction has none, and is only named in a
// warning.
void wait_for_transaction(TransactionId holder, const blocked_row& blocked);

} // namespace fencelock
