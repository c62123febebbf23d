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

// Rows of fence_issuer_stamp.
constexpr std::string_view issuer_stamp_name = "fence_issuer";
constexpr std::string_view installation_name = "installation";

// 2026-01-01 00:00 UTC, in PostgreSQL's microseconds since 2000-01-01.
constexpr TimestampTz clock_origin = INT64CONST(9497) * USECS_PER_DAY;
constexpr int64 clock_interval = INT64CONST(10) * USECS_PER_SEC;

int64 generation_by_clock()
{
    return std::max(INT64CONST(0), (GetCurrentTimestamp() - clock_origin) / clock_interval);
}

// Palloc'd; empty where there is none.
std::string_view stamp_of(std::string_view name)
{
    opened_table table = open_own_table(own_table::stamp, AccessShareLock);
    row_versions row = find_row(table, name);
    std::string_view stamp;
    if (row.settled.exists()) {
        bool is_null;
        Datum value = column_of(table, row.settled.tuple, 2, is_null);
        stamp = view_of(DatumGetTextPP(value));
    }
    close_own_table(table);
    return stamp;
}

// A statement trigger on fence_issuer renews the stamp, which the extension's own writes pass by:
// so it tells a restore, a TRUNCATE or a hand-written change.
std::string_view issuer_stamp()
{
    std::string_view stamp = stamp_of(issuer_stamp_name);
    return stamp.empty() ? "none" : stamp;
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

// Whether this is the history in which the extension was installed. Another one without a
// generation may be a copy from before the first issue: of what was issued then it knows nothing.
bool is_first_history(std::string_view identity)
{
    return stamp_of(installation_name) == id_of(0, identity);
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
    bool is_null;
    HeapTuple tuple = row.settled.tuple;
    stored.generation = DatumGetInt64(column_of(table, tuple, column_generation, is_null));
    stored.identity = view_of(DatumGetTextPP(column_of(table, tuple, column_identity, is_null)));
    return stored;
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
// installation starts with 0, so that its tokens are small.
int64 generation_above(int64 after, std::string_view identity)
{
    opened_table table = open_own_table(own_table::history, RowExclusiveLock);
    int64 generation;
    for (;;) {
        stored_history stored = history_in(table, find_and_lock_row(table, history_row_name, true));
        generation = stored.generation;
        if (stored.exists() && stored.identity == identity && generation > after)
            break;
        if (stored.exists() || !is_first_history(identity))
            generation = next_generation(generation);
        if (store_generation(table, stored, generation, identity))
            break;
    }
    close_own_table(table);
    return generation;
}

stored_history read_history()
{
    opened_table table = open_own_table(own_table::history, AccessShareLock);
    stored_history stored = history_in(table, find_row(table, history_row_name));
    close_own_table(table);
    return stored;
}

} // namespace

int64 current_generation()
{
    std::string_view identity = identity_now();
    stored_history stored = read_history();
    if (stored.exists() && stored.identity == identity)
        return stored.generation;
    return generation_above(-1, identity);
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
    return id_of(read_history().generation, identity);
}

} // namespace fencelock
