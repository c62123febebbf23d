"""Errors: only those that the faults explain."""

import signal

from .locks import UNDO
from .records import PROMOTIONS
from .tokens import Restored
from .verdict import Violation

# Conflicts, deadlocks, a server that ends or starts, timeouts, a standby, lost connections.
PASSING = ("40", "57P", "57014", "55P03", "25006", "08", "53")
ENDS_LEASES = (*UNDO, "redis_flush", "redis_del_lock", "redis_evict")
CONNECTION = ("connection", "issuer_unavailable", "outcome_unknown", "receipt")


def check(run):
    found = [Violation("crash", f"a worker ended: {e['what']}") for e in run.crashes]
    found += [Violation("crash", f"the worker {e['worker']} ended with {e['status']}, and was {'killed' if e['killed'] else 'told to end'}")
              for e in run.nemesis if e["e"] == "worker_ended" and e["status"] != (-signal.SIGKILL if e["killed"] else 0)]
    restored = Restored(run)
    for op in run.operations.values():
        if op.failed in ("issuer_unavailable", "outcome_unknown", "stale_token", None):
            continue
        if op.failed == "lock_lost" and _ran_out(run, op):
            continue
        found += _refusal(run, restored, op.failed, op.resources, op.failed_at, op.name, op.why)
    for tx in run.transactions.values():
        if tx.outcome == "aborted" and tx.error not in CONNECTION and not tx.sqlstate.startswith(PASSING):
            found.append(Violation("unexpected error", f"{tx.name}: {tx.sqlstate} {tx.error} {tx.why}", [tx.name]))
        if tx.outcome == "refused":
            found += _refused(run, restored, tx)
    return found


def _ran_out(run, op):
    """A lease that was lost before it was handed over: by its TTL, less what the client leaves off; or by a server that lost
    it, which a renewal, after a third of the TTL, has told."""
    lasted = op.failed_at - op.invoked
    if lasted >= op.ttl * 99 // 100 - 2_000_000:
        return True
    return lasted >= op.ttl // 3 and any(e["begun"] < op.failed_at for e in run.faults(*ENDS_LEASES))


def _refused(run, restored, tx):
    if tx.error in ("fence_try", "lock_lost", "stale_token") or tx.sqlstate == "LF001":
        return []
    if tx.error == "token_required" or tx.sqlstate == "LF002":
        if tx.way == "unfenced":
            return []
        return [Violation("unexpected error", f"{tx.name} presented a token, and was told that it had not: {tx.why}", [tx.name])]
    kind = {"LF003": "token_conflict", "LF004": "token_not_issued"}.get(tx.sqlstate, tx.error)
    return _refusal(run, restored, kind, list(tx.tokens), tx.ended, tx.name, tx.why)


def _refusal(run, restored, kind, resources, when, name, why):
    """LF003 needs a number that was granted twice, LF004 one that the database has lost."""
    if kind == "token_conflict" and any(resource in restored.ranges for resource in resources):
        return []
    if kind == "token_not_issued" and any(e["begun"] < when for e in run.faults(*PROMOTIONS)):
        return []
    return [Violation("unexpected error", f"{name}: {kind}: {why}", [name])]
