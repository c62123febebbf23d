#include "history.hpp"

#include "errors.hpp"
#include "installation.hpp"
#include "named_row.hpp"
#include "pg_compat.hpp"
#include "row_lock.hpp"
#include "row_write.hpp"

namespace fencelock {

namespace {

enum history_column { column_name = 1, column_generation, column_identity, column_started };
constexpr int history_columns = 4;
constexpr std::string_view history_row_name = "generation";

constexpr std::string_view issuer_stamp_name = "fence_issuer"; // its row in fence_issuer_stamp

// 2026-01-01 00:00 UTC, in PostgreSQL's microseconds since 2000-01-01.
constexpr TimestampTz clock_origin = INT64CONST(9497) * USECS_PER_DAY;
constexpr int64 clock_interval = INT64CONST(10) * USECS_PER_SEC;

int64 generation_by_clock()
{
    return std::max(INT64CONST(0), (GetCurrentTimestamp() - clock_origin) / clock_interval);
}

// A statement trigger on fence_issuer renews the stamp, which the extension's own writes pass by:
// so it tells a restore, a TRUNCATE or a hand-written change. Palloc'd.
std::string_view issuer_stamp()
{
    opened_table table = open_own_table(own_table::stamp, AccessShareLock);
    row_versions row = find_row(table, issuer_stamp_name);
    std::string_view stamp = "none";
    if (row.settled.exists())
        stamp = view_of(text_column(table, row.settled.tuple, 2));
    close_own_table(table);
    return stamp;
}

// All by which a history can be told from another; palloc'd.
std::string_view identity_now()
{
    PreventCommandDuringRecovery("fence_history()"); // the timeline is known only after recovery
    std::string_view stamp = issuer_stamp();
    char* identity =
        psprintf(UINT64_FORMAT "/%u/%u/%u/%.*s", GetSystemIdentifier(),
                 compat::insertion_timeline(), MyDatabaseId, own_table_oid(own_table::issuer),
                 static_cast<int>(stamp.size()), stamp.data());
    return identity;
}

const char* id_of(int64 generation, std::string_view identity)
{
    char* whole = psprintf(INT64_FORMAT "/%.*s", generation, static_cast<int>(identity.size()),
                           identity.data());
    uint64 hash = hash_bytes_extended(reinterpret_cast<const unsigned char*>(whole),
                                      static_cast<int>(strlen(whole)), 0);
    return psprintf("%016" PRIx64, hash);
}

struct stored_history {
    row_versions row;
    int64 generation;
    std::string_view identity;

    bool exists() const { return row.settled.exists(); }
};

stored_history history_in(const opened_table& table, const row_versions& row)
{
    stored_history stored{row, 0, {}};
    if (!stored.exists())
        return stored;
    HeapTuple tuple = row.settled.tuple;
    stored.generation = bigint_column(table, tuple, column_generation);
    stored.identity = view_of(text_column(table, tuple, column_identity));
    return stored;
}

// Whether this is the history in which the extension was installed, and no other's data has come
// into it. CREATE EXTENSION has left a row with the id of its history; a dump brings those of the
// histories that it comes from. Any other history without a generation may be a copy from before
// the first issue: of what was issued then it knows nothing.
bool is_first_history(const opened_table& table, std::string_view identity)
{
    std::string_view id = id_of(0, identity);
    bool installed_here = false;
    bool others = false;
    // What is committed or our own: these rows are never updated.
    TableScanDesc scan = table_beginscan(table.heap, SnapshotSelf, 0, nullptr);
    while (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection)) {
        if (view_of(text_column(table, tuple, column_name)) == history_row_name)
            continue;
        bool ours = view_of(text_column(table, tuple, column_identity)) == id;
        installed_here = installed_here || ours;
        others = others || !ours;
    }
    table_endscan(scan);
    return installed_here && !others;
}

// Whether the generation belongs to this history. The first one, 0, has no row: nobody who issues
// in a new installation has to write one, and keep others waiting for it.
bool is_current(const opened_table& table, const stored_history& stored, std::string_view identity)
{
    return stored.exists() ? stored.identity == identity : is_first_history(table, identity);
}

// Writes over what find_and_lock_row has found; false where somebody else's first row was in the
// way.
bool store_generation(const opened_table& table, const stored_history& stored, int64 generation,
                      std::string_view identity)
{
    Datum values[history_columns];
    bool nulls[history_columns] = {};
    values[column_name - 1] = PointerGetDatum(text_of(history_row_name));
    values[column_generation - 1] = Int64GetDatum(generation);
    values[column_identity - 1] = PointerGetDatum(text_of(identity));
    values[column_started - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
    if (!stored.exists())
        return insert_row(table, {values, nulls, history_columns});
    update_row(table, stored.row.settled.tid(), {values, nulls, history_columns});
    return true;
}

// The generation of this history, if it is above `after`; else starts the next one. A new
// installation has 0, so that its tokens are small.
int64 generation_above(int64 after, std::string_view identity)
{
    opened_table table = open_own_table(own_table::history, RowExclusiveLock);
    int64 generation;
    for (;;) {
        stored_history stored = history_in(table, find_and_lock_row(table, history_row_name, true));
        generation = stored.generation;
        if (generation > after && is_current(table, stored, identity))
            break;
        generation = next_generation(generation);
        if (store_generation(table, stored, generation, identity))
            break;
    }
    close_own_table(table);
    return generation;
}

} // namespace

int64 current_generation()
{
    std::string_view identity = identity_now();
    opened_table table = open_own_table(own_table::history, AccessShareLock);
    stored_history stored = history_in(table, find_row(table, history_row_name));
    bool current = is_current(table, stored, identity);
    close_own_table(table);
    return current ? stored.generation : generation_above(-1, identity);
}

int64 start_generation_after(int64 current)
{
    return generation_above(current, identity_now());
}

int64 next_generation(int64 current)
{
    return std::max(current + 1, generation_by_clock());
}

int64 seconds_to_generation(int64 number)
{
    TimestampTz begin = clock_origin + number * clock_interval;
    return std::max(INT64CONST(1), (begin - GetCurrentTimestamp()) / USECS_PER_SEC + 1);
}

const char* history_id()
{
    std::string_view identity = identity_now();
    opened_table table = open_own_table(own_table::history, AccessShareLock);
    stored_history stored = history_in(table, find_row(table, history_row_name));
    close_own_table(table);
    return id_of(stored.generation, identity);
}

} // namespace fencelock
