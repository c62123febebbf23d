// A hash table of claims by resource, made for one statement that claims a million of them: entries
// lie one behind another in blocks, each with its name, and never move.
#pragma once

#include "claims.hpp"
#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

struct claim_entry {
    claim current;
    uint32 hash;
    uint16 length; // of the name, which follows the entry

    char* name() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(claim_entry) == 32);

struct claim_table {
    MemoryContext memory;
    claim_entry** slots; // open addressing; null is free
    uint32 mask;         // of slots, whose number is a power of 2
    uint32 count;
    char* free; // in the newest block
    Size left;
    Size next_block; // its size
};

// All its memory is the context's.
claim_table* create_claim_table(MemoryContext memory);

// A new entry's claim is none. Leaves the table as it was where memory runs out.
claim_entry& find_or_add_entry(claim_table& table, const hashed_name& resource);

} // namespace fencelock
