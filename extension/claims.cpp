#include "claims.hpp"

#include "claim_table.hpp"

namespace fencelock {

namespace {

// What a claim replaced, so that the end of the savepoint level that made it can take it back. Only
// levels below the top leave such traces, newest last: a transaction without savepoints keeps none.
struct undo_entry {
    claim* changed;
    claim before;
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

void log_undo(claim& current)
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
    undo_log[undo_count++] = {&current, current, level};
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
        *undo.changed = undo.before;
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

claim& claim_for(const hashed_name& resource)
{
    if (claims == nullptr)
        claims = create_claim_table(TopTransactionContext);
    return find_or_add_entry(*claims, resource).current;
}

void note_claim(claim& current, token presented, const text* owner, bool enforced,
                bool siblings_unseen)
{
    const char* owner_copy = copy_owner(owner);
    log_undo(current);
    current = {presented, owner_copy, enforced, siblings_unseen};
}

} // namespace fencelock
