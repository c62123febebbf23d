#include "installation.hpp"

#include "errors.hpp"
#include "pg_compat.hpp"

namespace fencelock {

namespace {

struct table_shape {
    const char* name;
    int columns;
};
constexpr table_shape shapes[own_table_count] = {
    {"fence_resource", 4},
    {"fence_issuer", 8},
    {"fence_history_state", 4},
    {"fence_issuer_stamp", 2},
};

Oid schema = InvalidOid;
Oid located_by = InvalidOid; // the function whose schema that is
Oid table_oids[own_table_count];
bool oids_valid = false;
uint64 invalidations = 0; // so far

// What this transaction is known to have locked, so that it need not ask the lock manager again:
// locks last until it ends, or until the rollback of the savepoint level that took them. Forgetting
// too early only costs time.
struct held_lock {
    Oid relation;
    LOCKMODE mode;
};
held_lock held_tables[own_table_count];
held_lock held_indexes[own_table_count];

void forget_held_locks()
{
    for (held_lock& held : held_tables)
        held = {};
    for (held_lock& held : held_indexes)
        held = {};
}

// The mode to open the relation with: NoLock where one at least as strong is held. Of the modes
// that are used here the higher one conflicts with all that the lower one does.
LOCKMODE mode_to_open(const held_lock& held, Oid relation, LOCKMODE mode)
{
    return held.relation == relation && held.mode >= mode ? NoLock : mode;
}

extern "C" {

static void on_transaction_end(XactEvent event, void*)
{
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PARALLEL_PRE_COMMIT &&
        event != XACT_EVENT_PRE_PREPARE)
        forget_held_locks();
}

static void on_subtransaction_end(SubXactEvent event, SubTransactionId, SubTransactionId, void*)
{
    if (event == SUBXACT_EVENT_ABORT_SUB)
        forget_held_locks();
}

} // extern "C"

void forget_on_change(Datum, Oid relation)
{
    invalidations++;
    if (relation == InvalidOid)
        oids_valid = false;
    for (Oid own : table_oids)
        if (relation == own)
            oids_valid = false;
}

void find_oids()
{
    // What changes while this looks is looked up again by whoever comes next.
    uint64 before = invalidations;
    for (int i = 0; i < own_table_count; i++) {
        table_oids[i] = get_relname_relid(shapes[i].name, schema);
        if (!OidIsValid(table_oids[i]))
            raise_installation_broken(shapes[i].name);
    }
    oids_valid = invalidations == before;
}

} // namespace

void watch_installation()
{
    CacheRegisterRelcacheCallback(forget_on_change, 0);
    RegisterXactCallback(on_transaction_end, nullptr);
    RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

void locate_installation(Oid called_function)
{
    if (oids_valid || called_function == located_by)
        return;
    schema = get_func_namespace(called_function);
    located_by = called_function;
}

Oid own_table_oid(own_table which)
{
    if (!oids_valid)
        find_oids();
    return table_oids[static_cast<int>(which)];
}

opened_table open_own_table(own_table which, LOCKMODE mode)
{
    const table_shape& shape = shapes[static_cast<int>(which)];
    Oid oid = own_table_oid(which);
    held_lock& held = held_tables[static_cast<int>(which)];
    LOCKMODE open_mode = mode_to_open(held, oid, mode);
    opened_table table{table_open(oid, open_mode), which, mode};
    if (open_mode != NoLock)
        held = {oid, mode};
    // Rows are formed and read by column number; what somebody has added behind stays NULL.
    if (RelationGetNumberOfAttributes(table.heap) < shape.columns)
        raise_installation_broken(psprintf("the table %s as it was created", shape.name));
    // What makes a name unique, also where a row is found without it.
    if (!OidIsValid(compat::primary_key_of(table.heap)))
        raise_installation_broken(psprintf("the primary key of %s", shape.name));
    return table;
}

void close_own_table(const opened_table& table)
{
    table_close(table.heap, NoLock);
}

Relation open_primary_key(const opened_table& table)
{
    // Never remembered: a concurrent REINDEX puts another index in its place, and the old one soon
    // takes no entries any more. What the relation cache says under the lock that we hold on the
    // table is right to the end of the transaction.
    Oid oid = compat::primary_key_of(table.heap);
    held_lock& held = held_indexes[static_cast<int>(table.which)];
    LOCKMODE open_mode = mode_to_open(held, oid, table.mode);
    Relation index = index_open(oid, open_mode);
    if (open_mode != NoLock)
        held = {oid, table.mode};
    return index;
}

void close_primary_key(Relation index)
{
    index_close(index, NoLock);
}

} // namespace fencelock
