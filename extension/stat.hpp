// Counters per database, in shared memory: they survive the rollback that a refusal causes.
#pragma once

#include "pg.hpp"

namespace fencelock {

enum class stat_event : uint8 {
    accepted,   // tokens, once a claim; a repeated check of a claim is not counted
    advanced,   // of these: those that raised a mark
    stale,      // LF001
    unfenced,   // LF002
    conflict,   // LF003
    not_issued, // LF004
    wait,       // checks that waited for an older token
};
inline constexpr int stat_event_count = 7;

// Once, when the module is loaded: asks for shared memory, where that is possible.
void prepare_stat();

// Nothing where there is no shared memory: before 17 it exists only if the module was preloaded.
void count_event(stat_event event);

struct database_stat {
    Oid database;
    int64 counts[stat_event_count];
    TimestampTz since;
};

// The counters of the databases, at most capacity; -1 where there is no shared memory.
int read_stat(database_stat* out, int capacity);
inline constexpr int stat_capacity = 256; // databases beyond that are not counted

} // namespace fencelock
