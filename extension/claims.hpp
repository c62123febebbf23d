// The claims of the current transaction: tokens that it has presented and that were accepted. They
// live in transaction memory, never in the session, and a rollback to a savepoint takes back those
// made since.
#pragma once

#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

struct claim {
    token presented;   // no_token: none was accepted, or it was taken back
    const char* owner; // null where none was named
    bool enforced;     // measured against the mark and locked there; else only against a row's own
                       // column
    // Others have held the very token that the transaction's snapshot does not see as finished: no
    // matter for this claim, but the transaction must not raise the mark.
    bool siblings_unseen;
};

// Once, when the module is loaded.
void watch_transactions();

// The transaction's claim for the resource, present or not. It stays where it is to the end of the
// transaction.
claim& claim_for(const hashed_name& resource);

// Records or replaces the claim; owner may be null.
void note_claim(claim& current, token presented, const text* owner, bool enforced,
                bool siblings_unseen);

} // namespace fencelock
