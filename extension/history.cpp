#include "history.hpp"

#include "errors.hpp"
#include "installation.hpp"
#include "named_row.hpp"
#include "pg_compat.hpp"

namespace fencelock {

namespace {

enum history_column { column_name = 1, column_generation, column_identity, column_started };
constexpr int history_columns = 4;
constexpr std::string_view history_row_name = "generation";
constexpr std::string_view stamp_row_name = "fence_issuer";

// 2026-01-01 00:00 UTC, in PostgreSQL's microseconds since 2000-01-01.
constexpr TimestampTz clock_origin = INT64CONST(9497) * USECS_PER_DAY;
constexpr int64 clock_interval = INT64CONST(10) * USECS_PER_SEC;

int64 generation_by_clock()
{
    return std::max(INT64CONST(0), (GetCurrentTimestamp() - clock_origin) / clock_interval);
}

// A statement trigger on fence_issuer renews the stamp, which the extension's own writes pass by:
// so it tells a restore, a TRUNCATE or a hand-written change.
std::string_view issuer_stamp()
{
    opened_table table = open_own_table(own_table::stamp, AccessShareLock);
    row_versions row = find_row(table, stamp_row_name);
    std::string_view stamp = "none";
    if (row.settled.exists()) {
        bool is_null;
        Datum value = column_of(table, row.settled.tuple, 2, is_null);
        stamp = view_of(DatumGetTextPP(value));
    }
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

struct stored_history {
    row_versions row;
    int64 generation;
    std::string_view identity;
};

stored_history read_history(const opened_table& table)
{
    stored_history stored{};
    stored.row = find_row(table, history_row_name);
    if (!stored.row.settled.exists())
        return stored;
    bool is_null;
    HeapTuple tuple = stored.row.settled.tuple;
    stored.generation = DatumGetInt64(column_of(table, tuple, column_generation, is_null));
    stored.identity = view_of(DatumGetTextPP(column_of(table, tuple, column_identity, is_null)));
    return stored;
}

// Writes the generation where the row is still as stored; false where it has to be read again.
bool store_generation(const opened_table& table, const stored_history& stored, int64 generation,
                      std::string_view identity)
{
    Datum values[history_columns];
    bool nulls[history_columns] = {};
    values[column_name - 1] = PointerGetDatum(text_of(history_row_name));
    values[column_generation - 1] = Int64GetDatum(generation);
    values[column_identity - 1] = PointerGetDatum(text_of(identity));
    values[column_started - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
    if (stored.row.settled.exists())
        return update_row(table, stored.row.settled.tid(), {values, nulls}, true) == TM_Ok;
    if (stored.row.none())
        return insert_row(table, {values, nulls});
    if (stored.row.pending.speculative != 0)
        SpeculativeInsertionWait(stored.row.pending.writer, stored.row.pending.speculative);
    else
        XactLockTableWait(stored.row.pending.writer, table.heap, stored.row.pending.tid(),
                          XLTW_InsertIndex);
    return false;
}

} // namespace

int64 current_generation()
{
    std::string_view identity = identity_now();
    opened_table table = open_own_table(own_table::history, RowExclusiveLock);
    int64 generation;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        stored_history stored = read_history(table);
        bool known = stored.row.settled.exists();
        generation = known ? stored.generation : 0; // a new database starts with small tokens
        if (known && stored.identity == identity)
            break;
        if (known)
            generation = next_generation(stored.generation);
        if (store_generation(table, stored, generation, identity))
            break;
    }
    close_own_table(table);
    return generation;
}

int64 start_generation_after(int64 current)
{
    std::string_view identity = identity_now();
    opened_table table = open_own_table(own_table::history, RowExclusiveLock);
    int64 generation;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        stored_history stored = read_history(table);
        generation = stored.generation;
        if (generation > current)
            break;
        generation = next_generation(stored.generation);
        if (store_generation(table, stored, generation, identity))
            break;
    }
    close_own_table(table);
    return generation;
}

int64 next_generation(int64 current)
{
    return std::max(current + 1, generation_by_clock());
}

uint64 history_id()
{
    std::string_view identity = identity_now();
    opened_table table = open_own_table(own_table::history, AccessShareLock);
    int64 generation = read_history(table).generation;
    close_own_table(table);
    char* whole = psprintf(INT64_FORMAT "/%.*s", generation, static_cast<int>(identity.size()),
                           identity.data());
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(whole),
                               static_cast<int>(strlen(whole)), 0);
}

} // namespace fencelock
