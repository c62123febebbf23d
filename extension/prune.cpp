#include "prune.hpp"

#include "history.hpp"
#include "installation.hpp"
#include "issuer_store.hpp"
#include "mark_store.hpp"

namespace fencelock {

int64 prune_idle_resources(int64 idle)
{
    // One prune at a time: two could set the floor in the wrong order.
    LockRelationOid(own_table_oid(own_table::issuer), ShareUpdateExclusiveLock);
    TimestampTz idle_since = GetCurrentTimestamp() - idle;
    // What lies above the current generation was not issued as others are: as a floor it would shut
    // all of them out.
    token limit = start_of_generation(current_generation() + 1);
    int64 deleted = 0;
    token floor = mark_of(floor_name);
    ListCell* cell;
    foreach (cell, idle_issued_resources(idle_since)) {
        CHECK_FOR_INTERRUPTS();
        std::string_view resource = view_of(static_cast<text*>(lfirst(cell)));
        token issued;
        token mark;
        if (!hold_idle_issues(resource, idle_since, issued) || issued > limit ||
            !take_idle_mark(resource, idle_since, limit, mark))
            continue;
        delete_held_issues(resource);
        floor = std::max({floor, issued, mark});
        deleted++;
    }
    if (deleted > 0)
        set_mark(floor_name, floor);
    return deleted;
}

} // namespace fencelock
