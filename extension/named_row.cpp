#include "named_row.hpp"

#include "pg_compat.hpp"

namespace fencelock {

namespace {

// Where this session last saw a name's settled version. Only a place to start from: the name is
// compared there, and anything unexpected leads to the index. Sound because a version that is alive
// under that name is the only row of that name.
struct row_hint {
    Oid heap;
    uint32 hash;
    ItemPointerData tid;
    OffsetNumber root; // where its index entry leads to, on the same page, else invalid: that stays
                       // when the version is pruned
};

// Hints of names whose hashes meet, latest first. One cache line.
struct hint_set {
    row_hint hints[4];
};
static_assert(sizeof(hint_set) == 64);

// Enough for some thousands of resources in turn. Its memory is taken page by page as it is used.
constexpr int hint_set_count = 4096; // a power of 2
hint_set hint_sets[hint_set_count];

int hint_set_of(Oid heap, uint32 hash)
{
    return (hash ^ heap) & (hint_set_count - 1);
}

bool is_hint_of(const row_hint& hint, Oid heap, uint32 hash)
{
    return hint.hash == hash && hint.heap == heap;
}

// Null where there is none.
const row_hint* find_hint(Oid heap, uint32 hash)
{
    for (const row_hint& hint : hint_sets[hint_set_of(heap, hash)].hints)
        if (is_hint_of(hint, heap, hash))
            return &hint;
    return nullptr;
}

void remember(const row_hint& latest)
{
    row_hint pushed = latest;
    for (row_hint& hint : hint_sets[hint_set_of(latest.heap, latest.hash)].hints) {
        std::swap(hint, pushed);
        if (is_hint_of(pushed, latest.heap, latest.hash))
            return;
    }
}

// After the version was found from a place that has this root, if it has one.
void remember_version(Relation heap, uint32 hash, ItemPointer version, ItemPointerData root)
{
    bool same_page = ItemPointerGetBlockNumber(version) == ItemPointerGetBlockNumberNoCheck(&root);
    remember({RelationGetRelid(heap), hash, *version,
              same_page ? ItemPointerGetOffsetNumberNoCheck(&root) : InvalidOffsetNumber});
}

bool has_name(Relation heap, HeapTuple tuple, std::string_view name)
{
    bool is_null;
    Datum value = heap_getattr(tuple, 1, RelationGetDescr(heap), &is_null);
    return !is_null && view_of(DatumGetTextPP(value)) == name;
}

// Finds the tuple that tid stands for on a locked page; a redirected line pointer is followed at
// the start of a chain.
bool tuple_at(Relation heap, Buffer buffer, ItemPointerData tid, bool chain_start,
              HeapTupleData& tuple)
{
    Page page = BufferGetPage(buffer);
    OffsetNumber offset = ItemPointerGetOffsetNumber(&tid);
    if (offset < FirstOffsetNumber || offset > PageGetMaxOffsetNumber(page))
        return false;
    ItemId item = PageGetItemId(page, offset);
    if (chain_start && ItemIdIsRedirected(item)) {
        offset = ItemIdGetRedirect(item);
        item = PageGetItemId(page, offset);
    }
    if (!ItemIdIsNormal(item))
        return false;
    tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    tuple.t_len = ItemIdGetLength(item);
    tuple.t_tableOid = RelationGetRelid(heap);
    ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), offset);
    return true;
}

bool has_successor(HeapTupleHeader header, ItemPointer self)
{
    return (header->t_infomask & HEAP_XMAX_INVALID) == 0 && !HeapTupleHeaderIsOnlyLocked(header) &&
           !ItemPointerEquals(self, &header->t_ctid) &&
           !HeapTupleHeaderIndicatesMovedPartitions(header);
}

void note_version(row_versions& seen, HeapTuple tuple, const SnapshotData& dirty)
{
    row_version version;
    version.tuple = heap_copytuple(tuple);
    version.writer = dirty.xmin;
    version.speculative = TransactionIdIsValid(dirty.xmin) ? dirty.speculativeToken : 0;
    if (TransactionIdIsValid(version.writer)) {
        seen.pending = version;
    } else {
        seen.settled = version;
        seen.pending = {}; // what was pending before it on the chain has been committed since
    }
}

// Follows the chain of versions from its root, over pages and over versions that are dead by now,
// and notes those that count. A version's successor is the one it points to, if that was written by
// whoever ended the version; anything else there is a reused line pointer and ends the chain.
row_versions walk_chain(Relation heap, ItemPointerData root, std::string_view name)
{
    row_versions seen{};
    ItemPointerData tid = root;
    TransactionId expected_writer = InvalidTransactionId;
    Buffer buffer = InvalidBuffer;
    for (bool chain_start = true;; chain_start = false) {
        Buffer before = buffer;
        buffer = ReleaseAndReadBuffer(buffer, heap, ItemPointerGetBlockNumber(&tid));
        // Pruning at each visit, as PostgreSQL would with this fillfactor, costs a hot row more
        // than all the rest, and takes away the versions that hints lead to.
        if (buffer != before && PageGetHeapFreeSpace(BufferGetPage(buffer)) < BLCKSZ / 10)
            heap_page_prune_opt(heap, buffer);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);

        HeapTupleData tuple;
        bool more = tuple_at(heap, buffer, tid, chain_start, tuple) &&
                    (!TransactionIdIsValid(expected_writer) ||
                     TransactionIdEquals(HeapTupleHeaderGetXmin(tuple.t_data), expected_writer)) &&
                    has_name(heap, &tuple, name);
        if (more) {
            SnapshotData dirty;
            InitDirtySnapshot(dirty);
            if (HeapTupleSatisfiesVisibility(&tuple, &dirty, buffer))
                note_version(seen, &tuple, dirty);
            more = has_successor(tuple.t_data, &tuple.t_self);
        }
        if (more) {
            expected_writer = HeapTupleHeaderGetUpdateXid(tuple.t_data);
            tid = tuple.t_data->t_ctid;
        }
        LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
        if (!more)
            break;
    }
    ReleaseBuffer(buffer);
    return seen;
}

// Lets later index scans pass over an entry whose chain is dead to everybody.
bool is_dead_to_all(Relation heap, ItemPointerData root)
{
    Buffer buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(&root));
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    HeapTupleData tuple;
    bool all_dead = false;
    bool found = heap_hot_search_buffer(&root, heap, buffer, &dirty, &tuple, &all_dead, true);
    UnlockReleaseBuffer(buffer);
    return !found && all_dead;
}

row_versions find_by_index(const opened_table& table, const hashed_name& name)
{
    row_versions seen{};
    SnapshotData dirty; // the scan is not used for visibility, but wants a snapshot that is not of
                        // the MVCC kind
    InitDirtySnapshot(dirty);
    ScanKeyData key;
    ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(text_of(name)));
    key.sk_collation = C_COLLATION_OID;

    Relation index = open_primary_key(table);
    IndexScanDesc scan = compat::index_beginscan(table.heap, index, &dirty, 1);
    index_rescan(scan, &key, 1, nullptr, 0);
    while (!seen.settled.exists()) {
        ItemPointer tid = index_getnext_tid(scan, ForwardScanDirection);
        if (tid == nullptr)
            break;
        ItemPointerData root = *tid;
        row_versions chain = walk_chain(table.heap, root, name);
        if (chain.settled.exists())
            remember_version(table.heap, name.hash, chain.settled.tid(), root);
        // An entry may belong to an insertion that is about to give way, so what is pending never
        // ends the search.
        if (!chain.none())
            seen = chain;
        else if (!scan->xactStartedInRecovery)
            scan->kill_prior_tuple = is_dead_to_all(table.heap, root);
    }
    index_endscan(scan);
    close_primary_key(index);
    return seen;
}

// Where the hint leads to: no version where it is out of date.
row_versions find_by_hint(const opened_table& table, const hashed_name& name, row_hint hint)
{
    ItemPointerData root;
    ItemPointerSet(&root, ItemPointerGetBlockNumber(&hint.tid), hint.root);
    row_versions seen = walk_chain(table.heap, hint.tid, name);
    if (!seen.settled.exists() && hint.root != InvalidOffsetNumber)
        seen = walk_chain(table.heap, root, name);
    if (seen.settled.exists())
        remember_version(table.heap, name.hash, seen.settled.tid(), root);
    return seen;
}

} // namespace

row_versions find_row(const opened_table& table, const hashed_name& name)
{
    // Whatever was inserted by now has made the table longer.
    BlockNumber blocks = RelationGetNumberOfBlocks(table.heap);
    if (blocks == 0)
        return {};
    const row_hint* hint = find_hint(RelationGetRelid(table.heap), name.hash);
    if (hint != nullptr && ItemPointerGetBlockNumber(&hint->tid) < blocks) {
        row_versions seen = find_by_hint(table, name, *hint);
        if (seen.settled.exists())
            return seen;
    }
    return find_by_index(table, name);
}

Datum column_of(const opened_table& table, HeapTuple tuple, int column, bool& is_null)
{
    return heap_getattr(tuple, column, RelationGetDescr(table.heap), &is_null);
}

const text* text_column(const opened_table& table, HeapTuple tuple, int column)
{
    bool is_null;
    Datum value = column_of(table, tuple, column, is_null);
    return is_null ? nullptr : DatumGetTextPP(value);
}

int64 bigint_column(const opened_table& table, HeapTuple tuple, int column)
{
    bool is_null;
    Datum value = column_of(table, tuple, column, is_null);
    return is_null ? 0 : DatumGetInt64(value);
}

} // namespace fencelock
