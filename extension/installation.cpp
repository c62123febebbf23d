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
Oid table_oids[own_table_count];
bool oids_valid = false;
uint64 invalidations = 0; // so far

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
}

void locate_installation(Oid called_function)
{
    if (!oids_valid)
        schema = get_func_namespace(called_function);
}

Oid own_table_oid(own_table which)
{
    if (!oids_valid)
        find_oids();
    return table_oids[static_cast<int>(which)];
}

opened_table open_own_table(own_table which, LOCKMODE mode)
{
    opened_table table;
    table.heap = table_open(own_table_oid(which), mode);
    // Rows are formed and read by column number; what somebody has added behind stays NULL.
    if (RelationGetNumberOfAttributes(table.heap) < shapes[static_cast<int>(which)].columns)
        raise_installation_broken(
            psprintf("the table %s as it was created", shapes[static_cast<int>(which)].name));
    // Never remembered: a concurrent REINDEX puts another index in its place, and the old one soon
    // takes no entries any more. What the relation cache says under the lock that we hold by now is
    // right to the end of the transaction.
    Oid primary_key = compat::primary_key_of(table.heap);
    if (!OidIsValid(primary_key))
        raise_installation_broken(
            psprintf("the primary key of %s", shapes[static_cast<int>(which)].name));
    table.index = index_open(primary_key, mode);
    return table;
}

void close_own_table(const opened_table& table)
{
    index_close(table.index, NoLock);
    table_close(table.heap, NoLock);
}

} // namespace fencelock
