#include "claims.hpp"

namespace fencelock {

namespace {

struct resource_key {
    const char* name;
    size_t length;
};

struct claim_entry {
    resource_key key; // first, as dynahash wants it
    claim current;
    bool present; // false once a rollback has taken the only claim back
};

// What a claim replaced, so that the end of the savepoint level that made it can take it back. Only
// levels below the top leave such traces, newest last: a transaction without savepoints keeps none.
struct undo_entry {
    claim_entry* entry;
    claim before;
    bool was_present;
    int level;
};

HTAB* claims = nullptr;
undo_entry* undo_log = nullptr;
int undo_count = 0;
int undo_capacity = 0;

uint32 hash_key(const void* key, Size)
{
    auto* resource = static_cast<const resource_key*>(key);
    return hash_bytes(reinterpret_cast<const unsigned char*>(resource->name),
                      static_cast<int>(resource->length));
}

int compare_keys(const void* one, const void* other, Size)
{
    auto* a = static_cast<const resource_key*>(one);
    auto* b = static_cast<const resource_key*>(other);
    if (a->length != b->length)
        return 1;
    return memcmp(a->name, b->name, a->length);
}

HTAB* create_claims()
{
    HASHCTL control{};
    control.keysize = sizeof(resource_key);
    control.entrysize = sizeof(claim_entry);
    control.hash = hash_key;
    control.match = compare_keys;
    control.hcxt = TopTransactionContext;
    return hash_create("fencelock claims", 32, &control,
                       HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

char* copy_for_transaction(const char* data, size_t length)
{
    char* copy = static_cast<char*>(MemoryContextAlloc(TopTransactionContext, length + 1));
    memcpy(copy, data, length);
    copy[length] = '\0';
    return copy;
}

void log_undo(claim_entry* entry)
{
    int level = GetCurrentTransactionNestLevel();
    if (level == 1)
        return;
    if (undo_count == undo_capacity) {
        int wanted = std::max(32, undo_capacity * 2);
        Size size = sizeof(undo_entry) * wanted;
        undo_log = static_cast<undo_entry*>(
            undo_log == nullptr ? MemoryContextAllocHuge(TopTransactionContext, size)
                                : repalloc_huge(undo_log, size));
        undo_capacity = wanted;
    }
    undo_log[undo_count++] = {entry, entry->current, entry->present, level};
}

// The memory is the transaction's and is freed by it.
void forget_all()
{
    claims = nullptr;
    undo_log = nullptr;
    undo_count = 0;
    undo_capacity = 0;
}

void on_transaction_event(XactEvent event, void*)
{
    switch (event) {
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PARALLEL_ABORT:
    case XACT_EVENT_PREPARE:
        forget_all();
        break;
    default:
        break;
    }
}

void take_back(int level)
{
    while (undo_count > 0 && undo_log[undo_count - 1].level >= level) {
        const undo_entry& undo = undo_log[--undo_count];
        undo.entry->current = undo.before;
        undo.entry->present = undo.was_present;
    }
}

// The claims of a released savepoint are its parent's from now on.
void hand_to_parent(int level)
{
    int first = undo_count;
    while (first > 0 && undo_log[first - 1].level >= level)
        first--;
    if (level - 1 == 1) {
        undo_count = first;
        return;
    }
    for (int i = first; i < undo_count; i++)
        undo_log[i].level = level - 1;
}

void on_subtransaction_event(SubXactEvent event, SubTransactionId, SubTransactionId, void*)
{
    if (undo_count == 0)
        return;
    if (event == SUBXACT_EVENT_ABORT_SUB)
        take_back(GetCurrentTransactionNestLevel());
    else if (event == SUBXACT_EVENT_COMMIT_SUB)
        hand_to_parent(GetCurrentTransactionNestLevel());
}

} // namespace

void watch_transactions()
{
    RegisterXactCallback(on_transaction_event, nullptr);
    RegisterSubXactCallback(on_subtransaction_event, nullptr);
}

const claim* find_claim(std::string_view resource)
{
    if (claims == nullptr)
        return nullptr;
    resource_key key{resource.data(), resource.size()};
    auto* entry = static_cast<claim_entry*>(hash_search(claims, &key, HASH_FIND, nullptr));
    return entry != nullptr && entry->present ? &entry->current : nullptr;
}

void note_claim(std::string_view resource, token presented, const text* owner, bool enforced,
                bool siblings_unseen)
{
    if (claims == nullptr)
        claims = create_claims();
    // Everything that can fail comes before the entry, so that no half-made one is left behind.
    char* owner_copy = nullptr;
    if (owner != nullptr)
        owner_copy = copy_for_transaction(VARDATA_ANY(owner), VARSIZE_ANY_EXHDR(owner));
    resource_key key{resource.data(), resource.size()};
    auto* entry = static_cast<claim_entry*>(hash_search(claims, &key, HASH_FIND, nullptr));
    if (entry == nullptr) {
        key.name = copy_for_transaction(resource.data(), resource.size());
        entry = static_cast<claim_entry*>(hash_search(claims, &key, HASH_ENTER, nullptr));
        entry->current = {};
        entry->present = false;
    }
    log_undo(entry);
    entry->current = {presented, owner_copy, enforced, siblings_unseen};
    entry->present = true;
}

} // namespace fencelock
