// The verdict on a presented token: this transaction's claims first, which mostly end it, then the
// mark, then the issues.
#pragma once

#include "errors.hpp"
#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

// Raises 25006 where marks can't be written: in a read-only transaction, a parallel worker, on a
// standby.
void require_writable(const char* function);

// Presents the token; accepted, it is a claim until the (sub)transaction ends. owner may be null,
// and guard where it is no guard's. Refusals are returned, not raised; what is raised comes from
// waiting for older tokens: 40P01, cancellation.
verdict present_token(const hashed_name& resource, token presented, const text* owner,
                      const place_source* guard);

} // namespace fencelock
