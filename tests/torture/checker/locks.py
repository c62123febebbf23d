"""Locks: whoever is told that others hold one is told the truth; none outlives its TTL; and the run recovers."""

from .verdict import Violation

SLACK = 1_500_000_000  # ns: a busy machine's delays between a server's clock and what is written down
# After these a lock may be there again that was released, or renewed, on a server that is gone.
UNDO = ("redis_promote", "redis_split", "redis_restart_kept", "redis_restart_empty", "redis_away", "sentinel_kill",
        "sentinel_stop", "redlock_restart", "redlock_away", "redlock_stop", "pg_promote", "pg_split", "redis_restore_lock")


def check(run):
    return busy(run) + without_end(run) + recovers(run)


def busy(run):
    """An acquire that others are said to have been in the way of: somebody may have held the lock in that time."""
    spans = _spans(run)
    found = []
    for op in run.operations.values():
        if op.busy_at is None:
            continue
        if not any(begin <= op.busy_at and op.invoked <= end
                   for resource in op.resources for begin, end, who in spans.get(resource, []) if who != op.name):
            found.append(Violation("stuck lock", f"{op.name} was told that others hold {' or '.join(op.resources)}, but "
                                   "nobody can have held it then", [op.name]))
    return found


def _spans(run):
    """resource -> [(from, to, operation)]: when a lease may have run."""
    undone = [e["t"] for e in run.faults(*UNDO)]
    last = max(e["t"] for e in run.nemesis)
    spans = {}
    for op in run.operations.values():
        if op.busy_at is not None and len(op.resources) == 1 and op.group != "red":
            continue
        for resource in op.resources:
            spans.setdefault(resource, []).append((op.invoked, _end_of_lease(op, resource, last, undone), op.name))
    for e in run.faults("redis_restore_lock"):
        spans.setdefault(e["resource"], []).append((e["begun"], e["t"] + e["ttl"] * 1_000_000 + SLACK, "the nemesis"))
    return spans


def _end_of_lease(op, resource, last, undone):
    if resource in op.over:
        ended, how = op.over[resource]
        if how == "released" and not any(op.invoked < t < ended + op.ttl + 20 * SLACK for t in undone):
            return ended + SLACK // 5
        return ended + op.ttl + SLACK
    if op.busy_at is not None:
        return op.busy_at + SLACK // 5  # it had one of two resources, or one of three servers, and released it
    ended = op.failed_at if op.failed_at is not None else op.worker_died if op.worker_died is not None else last
    return ended + op.ttl + SLACK


def without_end(run):
    found = [Violation("stuck lock", f"{e['node']}: the lock {e['key']} has {e['ttl']} ms to live")
             for e in run.nemesis if e["e"] == "endless_lock"]
    for e in run.nemesis:
        if e["e"] == "left":
            found += [Violation("stuck lock", f"{lock} is still held after every holder has ended") for lock in e["locks"]]
    return found


def recovers(run):
    """Without faults, locks of each group are granted again, and writes are committed under them."""
    calm = [e["t"] for e in run.nemesis if e["e"] == "calm"]
    if not calm:
        return [Violation("no progress", "the run did not come to its end")]
    found = []
    for group in sorted({op.group for op in run.operations.values()}):
        granted = any(op.group == group and grant.returned > calm[0] for op in run.operations.values()
                      for grant in op.grants.values())
        committed = any(tx.outcome == "committed" and tx.ended > calm[0] and tx.rows and
                        run.operations[tx.op].group == group for tx in run.transactions.values())
        if not granted or not committed:
            found.append(Violation("no progress", f"after the last fault {'nothing was committed' if granted else 'no lock was granted'}"
                                   f" in the group {group}"))
    return found
