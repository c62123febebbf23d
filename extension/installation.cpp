#include "installation.hpp"

#include "errors.hpp"

namespace fencelock {

namespace {

struct table_names {
    const char* table;
    const char* primary_key;
    int columns;
};
constexpr table_names names_of[own_table_count] = {
    {"fence_resource", "fence_resource_pkey", 4},
    {"fence_issuer", "fence_issuer_pkey", 8},
    {"fence_history_state", "fence_history_state_pkey", 4},
    {"fence_issuer_stamp", "fence_issuer_stamp_pkey", 2},
};

struct table_oids {
    Oid table;
    Oid primary_key;
};

Oid schema = InvalidOid;
bool oids_valid = false; // dropping or changing any of the tables invalidates them
table_oids oids[own_table_count];

void forget_on_change(Datum, Oid relation)
{
    if (relation == InvalidOid)
        oids_valid = false;
    for (const table_oids& own : oids)
        if (relation == own.table || relation == own.primary_key)
            oids_valid = false;
}

void find_oids()
{
    for (int i = 0; i < own_table_count; i++) {
        oids[i].table = get_relname_relid(names_of[i].table, schema);
        oids[i].primary_key = get_relname_relid(names_of[i].primary_key, schema);
        if (!OidIsValid(oids[i].table))
            raise_installation_broken(names_of[i].table);
        if (!OidIsValid(oids[i].primary_key))
            raise_installation_broken(names_of[i].primary_key);
    }
    oids_valid = true;
}

const table_oids& oids_of(own_table which)
{
    if (!oids_valid)
        find_oids();
    return oids[static_cast<int>(which)];
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
    return oids_of(which).table;
}

opened_table open_own_table(own_table which, LOCKMODE mode)
{
    table_oids found = oids_of(which); // a copy: opening may process invalidations
    opened_table table;
    table.heap = table_open(found.table, mode);
    table.index = index_open(found.primary_key, mode);
    // Rows are formed and read by column number; what somebody has added behind stays NULL.
    if (RelationGetNumberOfAttributes(table.heap) < names_of[static_cast<int>(which)].columns)
        raise_installation_broken(
            psprintf("the table %s as it was created", names_of[static_cast<int>(which)].table));
    return table;
}

void close_own_table(const opened_table& table)
{
    index_close(table.index, NoLock);
    table_close(table.heap, NoLock);
}

} // namespace fencelock
