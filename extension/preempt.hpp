// Ending the session of a stopped holder that keeps its successor waiting.
#pragma once

#include "pg.hpp"

namespace fencelock {

// A newer token that waits for a transaction which holds the resource with an older one.
struct blocked_token {
    Relation heap;
    ItemPointer tid;
    token waiting;
    token holding;
};

// Waits until the transaction has ended. Where fencelock.preempt_after is set and the waiting token
// is the newer one, the holder's session is ended after that time; a prepared transaction has none,
// and is only named in a warning.
void wait_for_transaction(TransactionId holder, const blocked_token& blocked);

} // namespace fencelock
