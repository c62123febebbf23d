// Where the extension's own tables are. Their OIDs are found once a session and forgotten whenever
// one of them changes.
#pragma once

#include "pg.hpp"

namespace fencelock {

// The tables of the extension. Each has a text primary key as its first column.
enum class own_table : uint8 { resource, issuer, history, stamp };
inline constexpr int own_table_count = 4;

// Once, when the module is loaded.
void watch_installation();

// An SQL function of the extension says where the extension is: in the function's schema. Called by
// each entry point before anything opens a table.
void locate_installation(Oid called_function);

// The OID of a table, as used by the history's identity.
Oid own_table_oid(own_table which);

// A table of ours, open; the locks stay until the transaction ends.
struct opened_table {
    Relation heap;
    own_table which;
    LOCKMODE mode;
};
opened_table open_own_table(own_table which, LOCKMODE mode);
void close_own_table(const opened_table& table);

// The index of the table's primary key, for as long as the table is open.
Relation open_primary_key(const opened_table& table);
void close_primary_key(Relation index);

} // namespace fencelock
