// The verdict on a presented token: this transaction's claims first, which mostly end it, then the
// mark, then the issues.
#pragma once

#include "errors.hpp"
#include "pg.hpp"

namespace fencelock {

// Raises 25006 where marks can't be written: in a read-only transaction, a parallel worker, on a
// standby.
void require_writable(const char* function);

// Presents the token; accepted, it is a claim until the (sub)transaction ends. owner may be null.
// Errors: 22023 for resource and token; 40001, 40P01 and cancellation from the wait for older
// tokens. Refusals are returned, not raised.
verdict present_token(std::string_view resource, token presented, const text* owner);

} // namespace fencelock
