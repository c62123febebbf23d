#include "claim_table.hpp"

namespace fencelock {

namespace {

constexpr uint32 first_slots = 64;
constexpr Size first_block = 4 * 1024;
constexpr Size largest_block = 1024 * 1024;

claim_entry** allocate_slots(MemoryContext memory, uint32 count)
{
    return static_cast<claim_entry**>(MemoryContextAllocExtended(
        memory, sizeof(claim_entry*) * count, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

// Where the resource's entry is, or would be.
inline claim_entry** slot_of(const claim_table& table, const hashed_name& resource)
{
    for (uint32 i = resource.hash & table.mask;; i = (i + 1) & table.mask) {
        claim_entry* entry = table.slots[i];
        if (entry == nullptr || (entry->hash == resource.hash &&
                                 std::string_view{entry->name(), entry->length} == resource.text))
            return &table.slots[i];
    }
}

// At most three quarters of the slots are taken; true where all have moved to new ones.
bool make_room(claim_table& table)
{
    uint32 old_count = table.mask + 1;
    if (table.count < old_count / 4 * 3)
        return false;
    claim_entry** old = table.slots;
    uint32 new_count = old_count * (old_count < 65536 ? 4 : 2);
    table.slots = allocate_slots(table.memory, new_count);
    table.mask = new_count - 1;
    for (uint32 i = 0; i < old_count; i++) {
        if (old[i] == nullptr)
            continue;
        uint32 to = old[i]->hash & table.mask;
        while (table.slots[to] != nullptr)
            to = (to + 1) & table.mask;
        table.slots[to] = old[i];
    }
    pfree(old);
    return true;
}

claim_entry* allocate_entry(claim_table& table, Size name_length)
{
    Size size = MAXALIGN(sizeof(claim_entry) + name_length);
    if (table.left < size) {
        table.free = static_cast<char*>(MemoryContextAlloc(table.memory, table.next_block));
        table.left = table.next_block;
        table.next_block = std::min(table.next_block * 2, largest_block);
    }
    auto* entry = reinterpret_cast<claim_entry*>(table.free);
    table.free += size;
    table.left -= size;
    return entry;
}

} // namespace

claim_table* create_claim_table(MemoryContext memory)
{
    auto* table = static_cast<claim_table*>(MemoryContextAllocZero(memory, sizeof(claim_table)));
    table->memory = memory;
    table->slots = allocate_slots(memory, first_slots);
    table->mask = first_slots - 1;
    table->next_block = first_block;
    return table;
}

claim_entry& find_or_add_entry(claim_table& table, const hashed_name& resource)
{
    claim_entry** slot;
    do {
        slot = slot_of(table, resource);
        if (*slot != nullptr)
            return **slot;
    } while (make_room(table));
    claim_entry* entry = allocate_entry(table, resource.text.size());
    entry->current = {};
    entry->hash = resource.hash;
    entry->length = static_cast<uint16>(resource.text.size());
    memcpy(entry->name(), resource.text.data(), resource.text.size());
    *slot = entry;
    table.count++;
    return *entry;
}

} // namespace fencelock
