// The only place that knows PostgreSQL's versions: each function has the newest version's meaning.
#pragma once

#include <csignal>

#include "pg.hpp"

#if PG_VERSION_NUM >= 170000
extern "C" {
#include "storage/dsm_registry.h"
}
#endif

// Before 16 PGDLLEXPORT is empty, and a module built with hidden visibility would export nothing.
#define FENCELOCK_EXPORTS_BEGIN _Pragma("GCC visibility push(default)")
#define FENCELOCK_EXPORTS_END _Pragma("GCC visibility pop")

// Since 18 a module says its name and version, which pg_get_loaded_modules() shows.
#if PG_VERSION_NUM >= 180000
#define FENCELOCK_MODULE_MAGIC                                                                     \
    PG_MODULE_MAGIC_EXT(.name = "fencelock", .version = FENCELOCK_VERSION)
#else
#define FENCELOCK_MODULE_MAGIC PG_MODULE_MAGIC
#endif

// ExecutorRun's hook lost its last argument with 18.
#if PG_VERSION_NUM >= 180000
#define FENCELOCK_EXECUTE_ONCE_PARAMETER
#define FENCELOCK_EXECUTE_ONCE_ARGUMENT
#else
#define FENCELOCK_EXECUTE_ONCE_PARAMETER , bool execute_once
#define FENCELOCK_EXECUTE_ONCE_ARGUMENT , execute_once
#endif

namespace fencelock::compat {

inline IndexScanDesc index_beginscan(Relation heap, Relation index, Snapshot snapshot, int keys)
{
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan(heap, index, snapshot, nullptr, keys, 0);
#else
    return ::index_beginscan(heap, index, snapshot, keys, 0);
#endif
}

inline bool index_insert(Relation index, Datum* values, bool* nulls, ItemPointer tid, Relation heap,
                         IndexUniqueCheck check, IndexInfo* info)
{
#if PG_VERSION_NUM >= 140000
    return ::index_insert(index, values, nulls, tid, heap, check, false, info);
#else
    return ::index_insert(index, values, nulls, tid, heap, check, info);
#endif
}

// Which indexes need an entry for a version that was written: none where the update was HOT, or
// then, since 16, those that only summarize.
enum class index_need { none, summarizing, all };

inline bool index_takes(const IndexInfo* info, index_need need)
{
#if PG_VERSION_NUM >= 160000
    return need == index_need::all || info->ii_Summarizing;
#else
    (void)info;
    return need == index_need::all;
#endif
}

// Builds with assertions insist that whoever does not wait knows that it need not; in all others
// heap_update tells by TM_BeingModified.
#ifdef USE_ASSERT_CHECKING
inline constexpr bool may_update_without_waiting = false;
#else
inline constexpr bool may_update_without_waiting = true;
#endif

inline TM_Result heap_update(Relation heap, ItemPointer old_tid, HeapTuple tuple, bool wait,
                             index_need& need)
{
    TM_FailureData failure;
    LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
    TU_UpdateIndexes indexes = TU_None;
    TM_Result result = ::heap_update(heap, old_tid, tuple, GetCurrentCommandId(true),
                                     InvalidSnapshot, wait, &failure, &mode, &indexes);
    need = indexes == TU_All           ? index_need::all
           : indexes == TU_Summarizing ? index_need::summarizing
                                       : index_need::none;
#else
    TM_Result result = ::heap_update(heap, old_tid, tuple, GetCurrentCommandId(true),
                                     InvalidSnapshot, wait, &failure, &mode);
    need = HeapTupleIsHeapOnly(tuple) ? index_need::none : index_need::all;
#endif
    return result;
}

inline Oid primary_key_of(Relation heap)
{
#if PG_VERSION_NUM >= 180000
    return ::RelationGetPrimaryKeyIndex(heap, false);
#else
    return ::RelationGetPrimaryKeyIndex(heap);
#endif
}

inline bool conditional_lock_tuple(Relation heap, ItemPointer tid, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 180000
    return ::ConditionalLockTuple(heap, tid, mode, false);
#else
    return ::ConditionalLockTuple(heap, tid, mode);
#endif
}

// The timeline that this primary writes. Not the control file's, which lags behind a promotion.
// The caller has made sure that recovery is over.
inline TimeLineID insertion_timeline()
{
#if PG_VERSION_NUM >= 150000
    return GetWALInsertionTimeLine();
#else
    return ThisTimeLineID;
#endif
}

// Tells the session that runs this top-level transaction to end, and returns its PID; 0 where there
// is none, as with a prepared transaction. Under ProcArrayLock a transaction cannot end, so no
// other one is met.
inline int terminate_backend_of(TransactionId top)
{
    int pid = 0;
    LWLockAcquire(ProcArrayLock, LW_SHARED);
    for (uint32 i = 0; i < ProcGlobal->allProcCount && pid == 0; i++) {
#if PG_VERSION_NUM >= 140000
        TransactionId xid = ProcGlobal->allProcs[i].xid;
#else
        TransactionId xid = ProcGlobal->allPgXact[i].xid;
#endif
        if (TransactionIdEquals(xid, top))
            pid = ProcGlobal->allProcs[i].pid;
    }
    if (pid != 0)
        (void)kill(pid, SIGTERM);
    LWLockRelease(ProcArrayLock);
    return pid;
}

// When the checkpointer started: with every life of the server's shared memory another one does. 0
// while it is not there, as in a standalone backend.
inline TimestampTz start_of_checkpointer()
{
    int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; i++) {
#if PG_VERSION_NUM >= 160000
        LocalPgBackendStatus* process = pgstat_get_local_beentry_by_index(i);
#else
        LocalPgBackendStatus* process = pgstat_fetch_stat_local_beentry(i);
#endif
        if (process != nullptr && process->backendStatus.st_backendType == B_CHECKPOINTER)
            return process->backendStatus.st_proc_start_timestamp;
    }
    return 0;
}

// Since 14 a partition may also be detached in two steps.
inline bool detaches_partition(AlterTableType command)
{
#if PG_VERSION_NUM >= 140000
    return command == AT_DetachPartition || command == AT_DetachPartitionFinalize;
#else
    return command == AT_DetachPartition;
#endif
}

// For a module that is being preloaded.
#if PG_VERSION_NUM >= 150000
inline Size requested_shared_memory;
inline shmem_request_hook_type next_request_hook;
extern "C" inline void request_at_startup(void)
{
    if (next_request_hook != nullptr)
        next_request_hook();
    RequestAddinShmemSpace(requested_shared_memory);
}
inline void request_shared_memory(Size size)
{
    requested_shared_memory = size;
    next_request_hook = shmem_request_hook;
    shmem_request_hook = request_at_startup;
}
#else
inline void request_shared_memory(Size size)
{
    RequestAddinShmemSpace(size);
}
#endif

// For a module that was not preloaded; null where PostgreSQL has no such thing.
inline void* late_shared_memory(const char* name, Size size, void (*initialize)(void*))
{
#if PG_VERSION_NUM >= 170000
    bool found;
    return GetNamedDSMSegment(name, size, initialize, &found);
#else
    (void)name;
    (void)size;
    (void)initialize;
    return nullptr;
#endif
}

// Makes the call's result a set that is filled into its tuplestore.
inline void begin_set_result(FunctionCallInfo fcinfo)
{
#if PG_VERSION_NUM >= 150000
    InitMaterializedSRF(fcinfo, 0);
#else
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (result == nullptr || !IsA(result, ReturnSetInfo) ||
        (result->allowedModes & SFRM_Materialize) == 0)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("a set is not accepted in this context")));
    MemoryContext caller = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "fencelock: return type must be a row type");
    result->returnMode = SFRM_Materialize;
    result->setResult = tuplestore_begin_heap(true, false, work_mem);
    result->setDesc = row;
    MemoryContextSwitchTo(caller);
#endif
}

inline void reserve_setting_prefix(const char* prefix)
{
#if PG_VERSION_NUM >= 150000
    MarkGUCPrefixReserved(prefix);
#else
    EmitWarningsOnPlaceholders(prefix);
#endif
}

// Memory that the settings machinery may keep and free as a setting's "extra".
inline void* allocate_setting_extra(size_t size)
{
#if PG_VERSION_NUM >= 160000
    return guc_malloc(LOG, size);
#else
    return malloc(size);
#endif
}

inline void free_setting_extra(void* extra)
{
#if PG_VERSION_NUM >= 160000
    guc_free(extra);
#else
    free(extra);
#endif
}

// JSON actions return an error code since 16, and nothing before.
#if PG_VERSION_NUM >= 160000
using json_action_result = JsonParseErrorType;
#define FENCELOCK_JSON_ACTION_RETURN return JSON_SUCCESS
#else
using json_action_result = void;
#define FENCELOCK_JSON_ACTION_RETURN return
#endif

// Parses JSON in the server's encoding; strings reach the actions without escapes. The lexer's
// memory is the current context's.
inline JsonParseErrorType parse_json(const char* source, JsonSemAction* actions)
{
    size_t length = strlen(source);
#if PG_VERSION_NUM >= 170000
    JsonLexContext* lexer =
        makeJsonLexContextCstringLen(nullptr, source, length, GetDatabaseEncoding(), true);
#else
    JsonLexContext* lexer = makeJsonLexContextCstringLen(
        const_cast<char*>(source), static_cast<int>(length), GetDatabaseEncoding(), true);
#endif
    return pg_parse_json(lexer, actions);
}

} // namespace fencelock::compat
