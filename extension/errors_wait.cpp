// What an error says that ends the wait for another transaction. The error is PostgreSQL's own, so
// its code and message stay; the wait adds what it was for.

#include "errors.hpp"

namespace fencelock {

namespace {

void name_wait(const explained_wait& wait)
{
    if (wait.presented == no_token)
        errcontext("while waiting for another transaction that issues tokens, or changes the "
                   "lease, of resource \"%.*s\"",
                   static_cast<int>(wait.resource.size()), wait.resource.data());
    else if (wait.place == nullptr || wait.place->may_name_resource)
        errcontext(
            "while fencing token " INT64_FORMAT
            " of resource \"%.*s\" waits for a transaction that holds the mark " INT64_FORMAT,
            wait.presented, static_cast<int>(wait.resource.size()), wait.resource.data(),
            wait.holding);
    else
        errcontext("while fencing token " INT64_FORMAT
                   " for this row of table \"%s\" waits for a transaction that holds the mark",
                   wait.presented, RelationGetRelationName(wait.place->table));
}

} // namespace

extern "C" void explain_wait(void* argument)
{
    const auto& wait = *static_cast<const explained_wait*>(argument);
    int code = geterrcode();
    bool timed_out = code == ERRCODE_LOCK_NOT_AVAILABLE || code == ERRCODE_QUERY_CANCELED;
    if (timed_out) {
        errhint(
            "Try again once the other transaction has ended: pg_stat_activity shows who is idle in "
            "transaction, and fencelock.preempt_after has such sessions ended.");
        if (wait.place != nullptr && !wait.place->may_name_resource)
            errdetail_log("The resource is \"%.*s\", its mark is " INT64_FORMAT ".",
                          static_cast<int>(wait.resource.size()), wait.resource.data(),
                          wait.holding);
    }
    // A deadlock has a detail and a hint of its own.
    if (timed_out || code == ERRCODE_T_R_DEADLOCK_DETECTED)
        name_wait(wait);
}

} // namespace fencelock
