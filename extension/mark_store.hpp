// The marks: one row of fence_resource per resource, the only truth about what was accepted.
#pragma once

#include "errors.hpp"
#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

// Presents the token to the resource's mark. Accepted: the row is locked until the (sub)transaction
// ends, shared with other transactions of the same token once that mark is committed, exclusively
// while this one raises it. Compares with the newest mark, not with the snapshot's; waits for
// transactions of older tokens, never for those of newer ones. owner may be null, and guard where
// it is no guard's; siblings_unseen is the transaction's earlier claim's, and becomes that of this
// one. Raises 40001 in REPEATABLE READ and SERIALIZABLE where the transaction's snapshot would read
// behind its claim.
verdict present_to_mark(const hashed_name& resource, token presented, const text* owner,
                        const place_source* guard, bool& siblings_unseen);

// The newest committed mark, or this transaction's own; for a resource without one the floor; 0
// where there is none of them. Takes no lock.
token mark_of(const hashed_name& resource);

// The same without the floor: 0 for a resource that has no mark of its own.
token own_mark_of(const hashed_name& resource);

// mark_of, or the mark that a transaction in progress is raising it to, where that is higher.
token highest_mark_of(const hashed_name& resource);

// Sets the mark, down if need be, once nobody holds it. No owner is left.
void set_mark(const hashed_name& resource, token mark);

// Raises the mark to at least that, once nobody holds it, whatever was issued or retired; a mark or
// a floor that is as high already stays.
void raise_mark_to(const hashed_name& resource, token least);

// The row whose mark is the floor: what unknown resources are measured against once others have
// been pruned. Resources have no empty name.
inline constexpr std::string_view floor_name = "";

// Deletes the resource's mark and tells it, if it has been idle since then, is not above the limit
// and nobody holds it; true also where there is none.
bool take_idle_mark(const hashed_name& resource, TimestampTz idle_since, token limit, token& mark);

} // namespace fencelock
