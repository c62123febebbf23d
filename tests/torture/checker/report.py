"""All checks over one run, and what they and the run's numbers say."""

from collections import Counter

from . import commits, errors, locks, outcomes, tokens
from .verdict import Violation

CHECKS = (tokens, commits, outcomes, locks, errors)


# Kinds of violations, and what is true where there are none.
PROMISES = {
    "token repeated": "no token was granted twice",
    "token fell": "tokens rose with the grants, but for what the database refuses",
    "fallen token accepted": "no token was accepted that a later grant's reservation had retired",
    "order": "committed writes carry tokens that do not fall",
    "claim not fenced": "nothing was committed below a claimed token",
    "lost update": "no update was lost",
    "broken chain": "rows, journal and WAL agree about the order of commits",
    "wrong stamp": "every row shows the token that wrote it",
    "commit missing": "every acknowledged commit is there",
    "not undone": "nothing is there that was refused, aborted or rolled back",
    "half done": "every transaction is there as a whole or not at all",
    "stranger": "every row was written by a transaction of the history",
    "replica differs": "promoted standbys have what was committed before the fork",
    "unfenced write": "no write passed without a token",
    "final state": "the tables are as the journal says",
    "mark": "no mark lies below a committed token",
    "audit": "the guards were in order to the end",
    "stuck lock": "no lock outlived its TTL",
    "no progress": "every group recovered",
    "unexpected error": "no error came that the faults do not explain",
    "crash": "no worker crashed",
}


def violations(run, expected_faults=()):
    found = [violation for check in CHECKS for violation in check.check(run)]
    return found + missing_faults(run, expected_faults)


def missing_faults(run, expected):
    """A fault that was never seen to have happened proves nothing."""
    seen = Counter(e["kind"] for e in run.nemesis if e["e"] == "fault")
    return [Violation("fault missing", f"the fault {kind} never happened in this run") for kind in expected if not seen[kind]]


def summary(run):
    ops = run.operations.values()
    txs = run.transactions.values()
    yield "faults", Counter(e["kind"] for e in run.nemesis if e["e"] == "fault")
    yield "faults not observed", Counter(e["kind"] for e in run.nemesis if e["e"] == "not_observed")
    yield "acquires", Counter("granted" if op.grants else "busy" if op.busy_at else op.failed or "unanswered" for op in ops)
    yield "grants", Counter(f"{grant.op.group}/{grant.issuer}" for grant in run.grants())
    yield "transactions", Counter(tx.outcome for tx in txs)
    yield "committed by way", Counter(tx.way for tx in txs if tx.outcome == "committed")
    yield "refused by", Counter(tx.sqlstate or tx.error for tx in txs if tx.outcome == "refused")
    yield "aborted by", Counter(tx.sqlstate or tx.error for tx in txs if tx.outcome == "aborted")
    yield "told by receipt", Counter(tx.asked for tx in txs if tx.asked)
    yield "rows committed", Counter({node.name: len(node.journal) for node in run.nodes})
    yield "lost in failovers", Counter({node.name: _lost(run, node) for node in run.nodes if node.parent})
    yield "tokens that fell, and were refused", Counter(low.op.group for _, low in tokens.falls(run))


def _lost(run, node):
    """Transactions that the former primary had committed, and this one does not have."""
    parent = run.node(node.parent)
    return sum(1 for xid, at in parent.commits.items() if node.commits.get(xid) != at)


def text(counter):
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items(), key=lambda pair: str(pair[0]))) or "none"
