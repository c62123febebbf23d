#include "claims.hpp"

#include "claim_table.hpp"

namespace fencelock {

namespace {

// What a claim replaced, so that the end of the savepoint level that made it can take it back. Only
// levels below the top leave such traces, newest last: a transaction without savepoints keeps none.
struct undo_entry {
    claim_entry* entry;
    claim before;
    bool was_present;
    int level;
};

claim_table* claims = nullptr;
undo_entry* undo_log = nullptr;
int undo_count = 0;
int undo_capacity = 0;

char* copy_owner(const text* owner)
{
    return owner == nullptr ? nullptr
                            : MemoryContextStrdup(TopTransactionContext, text_to_cstring(owner));
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

const claim* find_claim(const hashed_name& resource)
{
    claim_entry* entry = claims == nullptr ? nullptr : find_entry(*claims, resource);
    return entry != nullptr && entry->present ? &entry->current : nullptr;
}

void note_claim(const hashed_name& resource, token presented, const text* owner, bool enforced,
                bool siblings_unseen)
{
    if (claims == nullptr)
        claims = create_claim_table(TopTransactionContext);
    const char* owner_copy = copy_owner(owner);
    claim_entry* entry = find_or_add_entry(*claims, resource);
    log_undo(entry);
    entry->current = {presented, owner_copy, enforced, siblings_unseen};
    entry->present = true;
}

} // namespace fencelock
