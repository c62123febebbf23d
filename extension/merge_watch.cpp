#include "merge_watch.hpp"

#include "pg_compat.hpp"

namespace fencelock {

#if PG_VERSION_NUM >= 150000

namespace {

// The statements that are being run, outermost first. An error leaves them without a word, so the
// end of the savepoint or transaction level that they ran in takes them off.
struct running_statement {
    const PlannedStmt* plan;
    int level;
};
constexpr int watched_depth = 64;
running_statement running[watched_depth];
int depth = 0; // of nesting; may exceed what is watched

ExecutorRun_hook_type next_hook = nullptr;

bool is_merge(const Plan* plan)
{
    return plan != nullptr && IsA(plan, ModifyTable) &&
           reinterpret_cast<const ModifyTable*>(plan)->operation == CMD_MERGE;
}

// A MERGE itself, or a statement with a MERGE in its WITH list.
bool has_merge(const PlannedStmt* statement)
{
    if (statement->commandType == CMD_MERGE)
        return true;
    if (!statement->hasModifyingCTE)
        return false;
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (is_merge(static_cast<const Plan*>(lfirst(cell))))
            return true;
    return false;
}

// EXPLAIN ANALYZE runs what it explains.
bool explains_merge(const PlannedStmt* statement)
{
    if (statement->utilityStmt == nullptr || !IsA(statement->utilityStmt, ExplainStmt))
        return false;
    const Node* explained = reinterpret_cast<ExplainStmt*>(statement->utilityStmt)->query;
    return IsA(explained, Query) &&
           (reinterpret_cast<const Query*>(explained)->commandType == CMD_MERGE ||
            reinterpret_cast<const Query*>(explained)->hasModifyingCTE);
}

bool portal_has_merge()
{
    if (ActivePortal == nullptr)
        return false;
    ListCell* cell;
    foreach (cell, ActivePortal->stmts)
        if (has_merge(static_cast<const PlannedStmt*>(lfirst(cell))) ||
            explains_merge(static_cast<const PlannedStmt*>(lfirst(cell))))
            return true;
    return false;
}

void begin_statement(const QueryDesc* query)
{
    if (depth < watched_depth)
        running[depth] = {query->plannedstmt, GetCurrentTransactionNestLevel()};
    depth++;
}

void forget_from(int level)
{
    depth = std::min(depth, watched_depth);
    while (depth > 0 && running[depth - 1].level >= level)
        depth--;
}

extern "C" {

static void run_watched(QueryDesc* query, ScanDirection direction,
                        uint64 count FENCELOCK_EXECUTE_ONCE_PARAMETER)
{
    int before = depth;
    begin_statement(query);
    auto run = next_hook != nullptr ? next_hook : standard_ExecutorRun;
    run(query, direction, count FENCELOCK_EXECUTE_ONCE_ARGUMENT);
    depth = before;
}

static void on_transaction_end(XactEvent event, void*)
{
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
        depth = 0;
}

static void on_subtransaction_end(SubXactEvent event, SubTransactionId, SubTransactionId, void*)
{
    if (event == SUBXACT_EVENT_ABORT_SUB)
        forget_from(GetCurrentTransactionNestLevel());
}

} // extern "C"

} // namespace

void watch_merges()
{
    next_hook = ExecutorRun_hook;
    ExecutorRun_hook = run_watched;
    RegisterXactCallback(on_transaction_end, nullptr);
    RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

bool inside_merge()
{
    if (depth == 0)
        return portal_has_merge();
    return depth > watched_depth || has_merge(running[depth - 1].plan);
}

#else // MERGE came with 15

void watch_merges() {}

bool inside_merge()
{
    return false;
}

#endif

} // namespace fencelock
