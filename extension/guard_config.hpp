// The arguments of a guard, compiled against its table and kept while neither changes.
#pragma once

#include "pg.hpp"
#include "resource_name.hpp"

namespace fencelock {

enum class mark_place : uint8 { resource, row };
enum class tie_rule : uint8 { accept, reject };
enum class stamp_rule : uint8 { any, claim };
enum class unfenced_rule : uint8 { reject, warn };

struct guard_config {
    name_template resource;
    AttrNumber token_column; // InvalidAttrNumber: only claims count
    AttrNumber last_column;  // of those that a guard reads
    mark_place mark;
    tie_rule ties;
    stamp_rule require;
    unfenced_rule unfenced;
};

// Once, when the module is loaded.
void watch_guarded_tables();

// The configuration that was asked for last, if it is still good: rows come one after another.
struct latest_config {
    Oid trigger;
    guard_config* config; // null: ask again
};
extern latest_config latest;

guard_config& find_config(Relation table, const Trigger* trigger);

// The configuration of a trigger, compiled at its first use in a session and again after any change
// of its table. Valid until the transaction ends.
inline guard_config& config_of(Relation table, const Trigger* trigger)
{
    if (latest.config != nullptr && latest.trigger == trigger->tgoid)
        return *latest.config;
    return find_config(table, trigger);
}

// Compiles arguments as a trigger on the table would, in the current memory context.
// Errors: 22023, 42703, 42804, 0A000, with the table named.
guard_config compile_guard_config(Relation table, int count, char** arguments);
guard_config compile_guard_config(Relation table, ArrayType* arguments);

// Grows with every change of a table that this session has learnt of: what was compiled before may
// be out of date.
uint64 table_changes();

} // namespace fencelock
