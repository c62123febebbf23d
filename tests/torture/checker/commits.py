"""Committed writes: in the order of their tokens, fenced by claims, without a lost update."""

from bisect import bisect_right

from .verdict import Violation

COUNTERS = ("account", "ledger", "bare", "solo", "once")


def check(run):
    found = []
    for node in run.nodes:
        found += order(node) + claims(run, node) + updates(run, node) + stamped(node)
    return found


def _by_resource(node):
    rows = {}
    for row in node.journal:
        rows.setdefault(row.resource, []).append(row)
    return rows


def order(node):
    """Commits of a resource carry tokens that do not fall; where ties are rejected, tokens that rise."""
    found = []
    for resource, rows in _by_resource(node).items():
        highest = None
        for row in rows:
            if highest is not None:
                tied = row.source == "once" and row.token == highest.token
                if row.token < highest.token or tied:
                    found.append(Violation(
                        "order", f"{node.name}: {row.source} of {resource} was written with token {row.token} by "
                        f"{row.by_tx}, committed after token {highest.token} of {highest.by_tx}",
                        [highest.by_tx, row.by_tx]))
            if highest is None or row.token > highest.token:
                highest = row
    return found


def claims(run, node):
    """After a claim no lower token commits: for good where the claim commits, else until it ends."""
    found = []
    number = [n.name for n in run.nodes].index(node.name)
    own = {}  # what was committed on this node itself, in order
    for row in node.journal:
        if row.position[0] == number and not row.resource.startswith("solo:"):  # mark=row fences from the first write on
            own.setdefault(row.resource, []).append(row)
    places = {resource: [_lsn(row) for row in rows] for resource, rows in own.items()}
    lowest = {resource: _lowest_from(rows) for resource, rows in own.items()}
    for tx in run.transactions.values():
        span = _span_of_claim(run, node, number, tx)
        if span is None:
            continue
        begin, end = span
        for resource, token in tx.tokens.items():
            rows = own.get(resource, [])
            first = bisect_right(places[resource], begin) if rows else 0
            if first == len(rows) or lowest[resource][first] >= token:
                continue
            for row in rows[first:]:
                if _lsn(row) >= end:
                    break
                if row.token < token:
                    found.append(Violation(
                        "claim not fenced", f"{node.name}: {resource} was written with token {row.token} by {row.by_tx} "
                        f"after token {token} had been claimed by {tx.name}", [tx.name, row.by_tx]))
                    break
    return found


def _lsn(row):
    return row.position[1]


def _lowest_from(rows):
    """The lowest token of the rows from each of them on."""
    lowest = []
    for row in reversed(rows):
        lowest.append(min(row.token, lowest[-1]) if lowest else row.token)
    return lowest[::-1]


def _span_of_claim(run, node, number, tx):
    """Between which positions of this node's own WAL the claim counts; None where it does not, or is not known."""
    if tx.node is None or not tx.claimed():
        return None
    end = run.node(tx.node).end_of(tx)
    if end is None:
        return None
    lsn, committed = end
    if tx.node == node.name:
        return tx.lsn, float("inf") if committed else lsn
    # Inherited: committed by a former primary before the histories parted.
    former = [n.name for n in run.nodes].index(tx.node)
    if former < number and committed and node.commits.get(tx.xid) == (former, lsn):
        return -1, float("inf")
    return None


def updates(run, node):
    """Every counter goes up by one from what its writer had read."""
    found = []
    chains = {}
    for row in node.journal:
        if row.source in COUNTERS and row.action == "UPDATE":
            chains.setdefault((row.source, row.resource), []).append(row)
    for (source, resource), rows in chains.items():
        value = 0
        for i, row in enumerate(rows):
            if row.before != value:
                found.append(Violation("broken chain", f"{node.name}: {source} of {resource} was {value} after "
                                       f"{rows[i - 1].by_tx}, but {row.before} before {row.by_tx}",
                                       [rows[i - 1].by_tx, row.by_tx]))
            if row.after != row.before + 1:
                found += _lost_update(run, node, rows, i)
            value = row.after
    return found


def _lost_update(run, node, rows, i):
    """Only earlier holders' writes may come between an unfenced read and the write."""
    row = rows[i]
    read = row.after - 1
    between = []
    for earlier in reversed(rows[:i]):
        if earlier.after == read:
            break
        between.append(earlier)
    if not _fenced(run, node, row) and between and all(one.token < row.token for one in between):
        return []
    return [Violation("lost update", f"{node.name}: {row.by_tx} read {read} in {row.source} of {row.resource}, and wrote "
                      f"{row.after} over {row.before} of {rows[i - 1].by_tx} (token {row.token} over {rows[i - 1].token})",
                      [rows[i - 1].by_tx, row.by_tx])]


def _fenced(run, node, row):
    tx = run.transactions[row.by_tx]
    if row.source == "solo":
        return False  # fenced from the first write on, not from the claim
    if tx.fenced and not tx.claimed():
        # Confirmed by an earlier transaction: a failover may have lost that.
        grant = run.operations[tx.op].grants[row.resource]
        return node.promoted is None or grant.returned > node.alone
    return tx.fenced


def stamped(node):
    """Every row shows the token that was accepted for it."""
    return [Violation("wrong stamp", f"{node.name}: {row.by_tx} wrote {row.source} of {row.resource} with token {row.token}, "
                      f"the row says {row.fence_token}", [row.by_tx])
            for row in node.journal
            if row.action != "DELETE" and row.by_tx and row.source != "bare" and row.fence_token != row.token]
