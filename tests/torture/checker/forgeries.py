"""Histories that are not true: from the evidence of a good run each of these makes one that the checker must refuse.

A forgery changes the evidence in place and returns the kind of violation that has to be found.
"""

import pickle
import signal

from . import report
from .records import JOURNAL_COLUMNS, PROMOTIONS, Run

FORGERIES = []


class Impossible(Exception):
    """The run has nothing that this could be forged from."""


def forgery(function):
    FORGERIES.append(function)
    return function


def undetected(evidence, faults):
    """(name, what was found instead or why it could not be tried) of each forgery; None where it was found."""
    original = pickle.dumps(evidence)
    for forge in FORGERIES:
        forged = pickle.loads(original)
        try:
            expected = forge(forged)
        except Impossible as e:
            yield forge.__name__, f"could not be forged from this run: {e}"
            continue
        found = {violation.kind for violation in report.violations(Run(forged), faults)}
        yield forge.__name__, None if expected in found else f"found {sorted(found) or 'nothing'}, not {expected}"


def _events(evidence, kind, **fields):
    return [event for events in evidence.histories.values() for event in events
            if event["e"] == kind and all(event.get(name) == value for name, value in fields.items())]


def _event(evidence, kind, **fields):
    return _first(_events(evidence, kind, **fields), f"event {kind}")


def _first(these, what):
    for one in these:
        return one
    raise Impossible(f"there is no {what}")


def _remove(evidence, kind, **fields):
    for events in evidence.histories.values():
        events[:] = [event for event in events
                     if event["e"] != kind or any(event.get(name) != value for name, value in fields.items())]


def _get(row, name):
    return row[JOURNAL_COLUMNS.index(name)]


def _set(row, name, value):
    row[JOURNAL_COLUMNS.index(name)] = value


def _rows_of(evidence, tx):
    return [row for node in evidence.nodes for row in node["journal"] if _get(row, "by_tx") == tx]


def _committed(evidence, **fields):
    """Transactions that were acknowledged, on the last node; with how many rows."""
    last = evidence.nodes[-1]["journal"]
    counts = {}
    for row in last:
        counts[_get(row, "by_tx")] = counts.get(_get(row, "by_tx"), 0) + 1
    begun = {event["tx"] for event in _events(evidence, "begin", **fields)}
    return [(event["tx"], counts[event["tx"]]) for event in _events(evidence, "committed")
            if event["tx"] in counts and event["tx"] in begun]


def _successive_grants(evidence, group):
    """Two grants of a resource, the second asked for when the first was there, whose holder claimed its token."""
    run = Run(evidence)
    by_resource = {}
    for grant in sorted(run.grants(), key=lambda g: g.returned):
        if grant.op.group == group:
            by_resource.setdefault(grant.resource, []).append(grant)
    claimed = {(resource, token) for tx in run.transactions.values() if tx.node == run.nodes[-1].name and tx.claimed()
               for resource, token in tx.tokens.items()}
    promoted = run.nodes[-1].alone or 0
    for grants in by_resource.values():
        for first, second in zip(grants, grants[1:]):
            if (first.returned < second.op.invoked and first.op.invoked > promoted and first.token < second.token
                    and (second.resource, second.token) in claimed):
                return first, second
    raise Impossible(f"there are no successive grants in {group}")


def _exchange_tokens(evidence, first, second):
    for events in evidence.histories.values():
        for event in events:
            for name, resource in (("token", "resource"), ("other_token", "other")):
                if event.get(resource) == first.resource and event.get(name) in (first.token, second.token):
                    event[name] = first.token + second.token - event[name]


# Tokens.

@forgery
def a_token_is_granted_twice(evidence):
    first, second = _successive_grants(evidence, "db")
    _event(evidence, "granted", op=second.op.name, resource=second.resource)["token"] = first.token
    return "token repeated"


@forgery
def a_token_falls(evidence):
    _exchange_tokens(evidence, *_successive_grants(evidence, "db"))
    return "token fell"


@forgery
def a_token_that_fell_is_accepted(evidence):
    first, second = _successive_grants(evidence, "db")
    _exchange_tokens(evidence, first, second)
    _event(evidence, "granted", op=second.op.name, resource=second.resource)["issuer"] = "redis"
    return "fallen token accepted"


# Commits.

@forgery
def two_commits_change_places(evidence):
    node = evidence.nodes[-1]
    place = {xid: i for i, (xid, _, committed) in enumerate(node["ends"]) if committed}
    last = {}
    for row in node["journal"]:
        before = last.get(_get(row, "resource"))
        if before and _get(before, "by_token") < _get(row, "by_token") and {_get(before, "xid"), _get(row, "xid")} <= place.keys():
            one, other = (node["ends"][place[_get(r, "xid")]] for r in (before, row))
            one[1], other[1] = other[1], one[1]
            return "order"
        last[_get(row, "resource")] = row
    raise Impossible("no resource was written with two tokens")


@forgery
def a_lower_token_is_committed_after_a_claim(evidence):
    run = Run(evidence)
    node = run.nodes[-1]
    ends = {end[0]: end for end in evidence.nodes[-1]["ends"]}
    for tx in run.transactions.values():
        if tx.node != node.name or not tx.claimed() or node.end_of(tx) is None:
            continue
        for row in node.journal:
            if row.resource in tx.tokens and not row.resource.startswith("solo") and row.xid in ends \
                    and row.token < tx.tokens[row.resource] and ends[row.xid][1] < tx.lsn:
                ends[row.xid][1] = tx.lsn + 1
                return "claim not fenced"
    raise Impossible("nothing was claimed above an earlier token")


@forgery
def an_update_is_lost(evidence):
    fenced = {tx for tx, _ in _committed(evidence, way="claim")} | {tx for tx, _ in _committed(evidence, way="transaction")}
    row = _first((row for row in evidence.nodes[-1]["journal"] if _get(row, "by_tx") in fenced and
                  _get(row, "source") in ("account", "ledger", "bare")), "fenced update")
    _set(row, "after", _get(row, "before"))
    return "lost update"


@forgery
def a_transfer_loses_money(evidence):
    row = _first((row for row in evidence.nodes[-1]["journal"] if _get(row, "source") == "purse"), "transfer")
    _set(row, "after", _get(row, "after") - 1)
    return "lost update"


@forgery
def a_row_is_not_what_was_read(evidence):
    row = _first((row for row in evidence.nodes[-1]["journal"] if _get(row, "source") == "account"), "update")
    _set(row, "before", _get(row, "before") + 5)
    return "broken chain"


@forgery
def a_row_shows_another_token(evidence):
    row = _first((row for row in evidence.nodes[-1]["journal"] if _get(row, "source") == "ledger"), "update")
    _set(row, "fence_token", _get(row, "fence_token") - 1)
    return "wrong stamp"


# Outcomes.

@forgery
def an_acknowledged_commit_is_gone(evidence):
    tx, _ = _first(_committed(evidence), "commit")
    for node in evidence.nodes:
        node["journal"] = [row for row in node["journal"] if _get(row, "by_tx") != tx]
    return "commit missing"


@forgery
def a_refused_write_is_there(evidence):
    tx, _ = _first(_committed(evidence, way="stamp_sql"), "commit")
    _event(evidence, "committed", tx=tx).update(e="refused", error="sql", sqlstate="LF001")
    return "not undone"


@forgery
def a_rolled_back_write_is_there(evidence):
    tx, _ = _first(_committed(evidence, way="transaction"), "commit")
    _event(evidence, "committed", tx=tx)["e"] = "rolled_back"
    return "not undone"


@forgery
def a_receipt_tells_a_lie(evidence):
    tx, _ = _first(_committed(evidence, way="check"), "commit")
    told = _event(evidence, "committed", tx=tx)
    told.update(e="unknown")
    events = next(events for events in evidence.histories.values() if told in events)
    events.append({"t": told["t"], "e": "asked", "tx": tx, "outcome": "aborted"})
    return "not undone"


@forgery
def half_of_a_commit_of_unknown_outcome_is_there(evidence):
    tx = _first((tx for tx, count in _committed(evidence) if count > 1), "commit of two rows")
    _event(evidence, "committed", tx=tx)["e"] = "unknown"
    for node in evidence.nodes:
        gone = next((row for row in node["journal"] if _get(row, "by_tx") == tx), None)
        if gone:
            node["journal"].remove(gone)
    return "half done"


@forgery
def a_commit_is_not_in_the_wal(evidence):
    tx, _ = _first(_committed(evidence), "commit")
    xid = _get(_rows_of(evidence, tx)[0], "xid")
    for node in evidence.nodes:
        for end in node["ends"]:
            if end[0] == xid:
                end[2] = False
    return "half done"


@forgery
def a_write_comes_back_after_a_savepoint(evidence):
    row = list(_first(evidence.nodes[-1]["journal"], "row"))
    _set(row, "by_tx", _get(row, "by_tx") + ".taken_back")
    evidence.nodes[-1]["journal"].append(row)
    return "stranger"


@forgery
def a_standby_misses_a_commit(evidence):
    if len(evidence.nodes) < 2:
        raise Impossible("no standby was promoted")
    inherited = {tuple(row) for row in evidence.nodes[-2]["journal"]}
    journal = evidence.nodes[-1]["journal"]
    journal.remove(_first((row for row in journal if tuple(row) in inherited), "inherited row"))
    return "replica differs"


@forgery
def a_write_without_a_token_is_there(evidence):
    tx, _ = _first(_committed(evidence, way="setting"), "commit")
    _event(evidence, "begin", tx=tx)["way"] = "unfenced"
    return "unfenced write"


@forgery
def a_table_has_another_value(evidence):
    written = {_get(row, "resource") for row in evidence.nodes[-1]["journal"] if _get(row, "source") == "account"}
    row = _first((row for row in evidence.nodes[-1]["tables"]["account"] if f"acct:{row[0]}" in written), "written account")
    row[1] += 1
    return "final state"


@forgery
def a_mark_falls(evidence):
    node = evidence.nodes[-1]
    node["marks"] = {resource: 0 for resource in node["marks"]}
    return "mark"


@forgery
def a_guard_is_disabled(evidence):
    evidence.nodes[-1]["audit"].append(["account", "the guard is disabled"])
    return "audit"


# Locks.

@forgery
def a_lock_is_busy_though_nobody_has_it(evidence):
    busy = _first(_events(evidence, "busy"), "busy lock")
    _event(evidence, "acquire", op=busy["op"]).update(resource="acct:db:99", other="")
    return "stuck lock"


@forgery
def a_lock_has_no_end(evidence):
    evidence.nemesis.append({"t": evidence.nemesis[-1]["t"], "e": "endless_lock", "node": "redis_a", "key": "x", "ttl": -1})
    return "stuck lock"


@forgery
def a_lock_is_left(evidence):
    _first((e for e in evidence.nemesis if e["e"] == "left"), "look at what is left")["locks"].append("acct:man:0")
    return "stuck lock"


@forgery
def nothing_is_granted_after_the_faults(evidence):
    calm = _first((e["t"] for e in evidence.nemesis if e["e"] == "calm"), "calm")
    late = {event["op"] for event in _events(evidence, "granted") if event["t"] > calm}
    for op in late:
        _remove(evidence, "granted", op=op)
    return "no progress"


# Errors.

@forgery
def an_error_is_unknown(evidence):
    aborted = _first((event for event in _events(evidence, "aborted") if event["sqlstate"]), "error")
    aborted["sqlstate"] = "XX000"
    return "unexpected error"


@forgery
def a_lease_is_lost_before_its_ttl_is_over(evidence):
    asked = {event["op"]: event for event in _events(evidence, "acquire")}
    quick = _first((event for event in _events(evidence, "granted")
                    if event["t"] - asked[event["op"]]["t"] < asked[event["op"]]["ttl"] * 1_000_000 // 4), "quick grant")
    quick.update(e="not_granted", error="lock_lost", what="over")
    return "unexpected error"


@forgery
def a_conflict_of_owners_has_no_cause(evidence):
    evidence.nemesis[:] = [e for e in evidence.nemesis if e.get("kind") != "redis_restore_state"]
    _first(_events(evidence, "refused", error="stale_token"), "refusal")["error"] = "token_conflict"
    return "unexpected error"


@forgery
def a_token_is_unknown_without_a_failover(evidence):
    first = _first(sorted(_events(evidence, "refused", sqlstate="LF001"), key=lambda e: e["t"]), "refusal")
    evidence.nemesis[:] = [e for e in evidence.nemesis if e.get("kind") not in PROMOTIONS and e["e"] not in ("promotion", "alone")]
    del evidence.nodes[1:]
    first["sqlstate"] = "LF004"
    return "unexpected error"


@forgery
def a_token_that_was_presented_is_missed(evidence):
    _first(_events(evidence, "refused", sqlstate="LF001"), "refusal")["sqlstate"] = "LF002"
    return "unexpected error"


@forgery
def a_worker_crashes(evidence):
    next(iter(evidence.histories.values())).append({"t": 0, "e": "crashed", "what": "terminate"})
    return "crash"


@forgery
def a_worker_crashes_before_it_is_killed(evidence):
    ended = _first((e for e in evidence.nemesis if e["e"] == "worker_ended" and e["killed"]), "killed worker")
    ended["status"] = -signal.SIGSEGV
    return "crash"


@forgery
def a_fault_never_happens(evidence):
    evidence.nemesis[:] = [e for e in evidence.nemesis if e.get("kind") != "pg_crash"]
    return "fault missing"
