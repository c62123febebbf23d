// This database's history and its generation of tokens.
//
// What PostgreSQL has issued can be lost: a standby is promoted without the last commits, a backup
// is restored, a database is cloned. So a token is generation * 2^24 + n, and the first issue in a
// new history starts a new generation, whose number comes from the clock: uniqueness must not rest
// on state that may have been lost.
#pragma once

#include "pg.hpp"

namespace fencelock {

inline constexpr int generation_bits = 24;
inline constexpr int64 generation_size = INT64CONST(1) << generation_bits;

// The token just below a generation's first: its tokens are those above it, up to and including the
// next one's start, so that a reservation of 2^24 fits.
inline token start_of_generation(int64 generation)
{
    return generation << generation_bits;
}

// The generation that tokens are issued in now, starting a new one (written by this transaction)
// where the history is not the one that the last one was started in.
int64 current_generation();

// Starts the generation after current, as it has no room left. Returns its number, which another
// transaction may have started meanwhile.
int64 start_generation_after(int64 current);

// The number that start_generation_after(current) would start now.
int64 next_generation(int64 current);

// How long it takes until a generation of this number would be started by the clock; at least 1.
int64 seconds_to_generation(int64 number);

// Identifies the history and its generation: another id means that blocks handed out before may be
// unknown here. Palloc'd.
const char* history_id();

} // namespace fencelock
