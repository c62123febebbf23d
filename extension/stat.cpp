#include "stat.hpp"

#include "pg_compat.hpp"

namespace fencelock {

namespace {

struct database_counters {
    pg_atomic_uint32 database; // 0: free. Once taken, a slot stays its database's.
    pg_atomic_uint64 since;
    pg_atomic_uint64 counts[stat_event_count];
};

struct shared_stat {
    database_counters databases[stat_capacity];
};

shared_stat* shared = nullptr;
database_counters* own = nullptr; // this database's
shmem_startup_hook_type next_startup_hook = nullptr;

extern "C" {

static void initialize_stat(void* memory)
{
    auto* stat = static_cast<shared_stat*>(memory);
    for (database_counters& counters : stat->databases) {
        pg_atomic_init_u32(&counters.database, 0);
        pg_atomic_init_u64(&counters.since, 0);
        for (pg_atomic_uint64& count : counters.counts)
            pg_atomic_init_u64(&count, 0);
    }
}

static void attach_at_startup(void)
{
    if (next_startup_hook != nullptr)
        next_startup_hook();
    bool found;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    shared = static_cast<shared_stat*>(
        ShmemInitStruct("fencelock counters", sizeof(shared_stat), &found));
    if (!found)
        initialize_stat(shared);
    LWLockRelease(AddinShmemInitLock);
}

} // extern "C"

database_counters* find_own()
{
    if (own != nullptr)
        return own;
    if (shared == nullptr)
        shared = static_cast<shared_stat*>(
            compat::late_shared_memory("fencelock counters", sizeof(shared_stat), initialize_stat));
    if (shared == nullptr)
        return nullptr;
    for (database_counters& counters : shared->databases) {
        uint32 expected = 0;
        if (pg_atomic_read_u32(&counters.database) == MyDatabaseId ||
            pg_atomic_compare_exchange_u32(&counters.database, &expected, MyDatabaseId) ||
            expected == MyDatabaseId) {
            if (pg_atomic_read_u64(&counters.since) == 0)
                pg_atomic_write_u64(&counters.since, static_cast<uint64>(GetCurrentTimestamp()));
            own = &counters;
            return own;
        }
    }
    return nullptr;
}

} // namespace

void prepare_stat()
{
    if (!process_shared_preload_libraries_in_progress)
        return;
    compat::request_shared_memory(sizeof(shared_stat));
    next_startup_hook = shmem_startup_hook;
    shmem_startup_hook = attach_at_startup;
}

void count_event(stat_event event)
{
    if (database_counters* counters = find_own())
        pg_atomic_fetch_add_u64(&counters->counts[static_cast<int>(event)], 1);
}

int read_stat(database_stat* out, int capacity)
{
    (void)find_own();
    if (shared == nullptr)
        return -1;
    int count = 0;
    for (database_counters& counters : shared->databases) {
        Oid database = pg_atomic_read_u32(&counters.database);
        if (database == InvalidOid || count == capacity)
            break;
        database_stat& stat = out[count++];
        stat.database = database;
        stat.since = static_cast<TimestampTz>(pg_atomic_read_u64(&counters.since));
        for (int i = 0; i < stat_event_count; i++)
            stat.counts[i] = static_cast<int64>(pg_atomic_read_u64(&counters.counts[i]));
    }
    return count;
}

} // namespace fencelock
