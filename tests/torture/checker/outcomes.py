"""What was reported is true: committed is there, as a whole; refused, aborted, rolled back is nowhere."""

from .records import UNKNOWN
from .verdict import Violation


def check(run):
    rows = {node.name: _rows_by_transaction(node) for node in run.nodes}
    found = []
    for tx in run.transactions.values():
        found += _transaction(run, tx, rows)
    for node in run.nodes:
        found += _inherited(run, node) + _strangers(run, node) + _final_state(node) + _purses(node)
    return found


def _rows_by_transaction(node):
    rows = {}
    for row in node.journal:
        rows.setdefault(row.by_tx, []).append(row)
    return rows


def _transaction(run, tx, rows):
    found = []
    written = {node: len(by_tx.get(tx.name, [])) for node, by_tx in rows.items()}
    if tx.outcome == "committed" and written.get(tx.node, 0) != tx.rows:
        found.append(Violation("commit missing", f"{tx.name} was committed with {tx.rows} rows on {tx.node}, which has "
                               f"{written.get(tx.node, 0)} of them", [tx.name]))
    for node, count in written.items():
        if count == 0:
            continue
        if tx.outcome in ("refused", "aborted", "rolled_back") and not _decided_again(tx, node):
            found.append(Violation("not undone", f"{tx.name} was {tx.outcome}, but {node} has {count} rows of it", [tx.name]))
        if count != tx.rows and not tx.writing:
            found.append(Violation("half done", f"{node} has {count} of the {tx.rows} rows of {tx.name}", [tx.name]))
        if tx.way == "unfenced":
            found.append(Violation("unfenced write", f"{tx.name} presented no token, but {node} has {count} rows of it",
                                   [tx.name]))
    if tx.node and not _agrees_with_wal(run.node(tx.node), tx, written[tx.node]):
        found.append(Violation("half done", f"the WAL of {tx.node} and its journal disagree about {tx.name}", [tx.name]))
    return found


def _decided_again(tx, node):
    """A prepared transaction that reached a standby before it was rolled back was decided there once more."""
    return tx.way == "two_phase" and node != tx.node


def _agrees_with_wal(node, tx, count):
    end = node.end_of(tx)
    committed = end is not None and end[1]
    return (committed and (count > 0 or tx.rows == 0)) or (not committed and count == 0)


def _inherited(run, node):
    """A promoted standby has exactly what its primary had committed before their histories part."""
    if node.parent is None:
        return []
    parent = run.node(node.parent)
    number = [n.name for n in run.nodes].index(node.name)

    def key(row):
        return (row.xid, row.source, row.action, row.resource, row.by_tx, row.before, row.after)

    expected = {key(row) for row in parent.journal if row.xid in node.commits and node.commits[row.xid] == parent.commits[row.xid]}
    got = {key(row) for row in node.journal if row.position[0] < number}
    return [Violation("replica differs", f"{node.name} and {parent.name} disagree about {one}", [one[4]])
            for one in sorted(expected ^ got, key=str)]


def _strangers(run, node):
    """Rows that no transaction of the history wrote, or that were taken back."""
    return [Violation("stranger", f"{node.name} has a row of {row.source}, {row.resource}, by {row.by_tx}", [str(row.by_tx)])
            for row in node.journal
            if row.by_tx not in run.transactions or row.position == UNKNOWN]


def _final_state(node):
    """The tables are what the journal says that was written last; the marks are not below that."""
    found = []
    last = {}
    highest = {}
    for row in node.journal:
        last[row.source, row.resource] = row
        highest[row.resource] = max(row.token or 0, highest.get(row.resource, 0))
    for table, rows in node.final["tables"].items():
        family = table if table in ("solo", "once") else "acct"
        for identifier, value, by_tx, by_token, fence_token in rows:
            row = last.get((table, f"{family}:{identifier}"))
            if row and (row.after, row.by_tx, row.token, row.fence_token) != (value, by_tx, by_token, fence_token):
                found.append(Violation("final state", f"{node.name}: {table} of {family}:{identifier} is {value} by {by_tx}, "
                                       f"the journal says {row.after} by {row.by_tx}", [str(by_tx), str(row.by_tx)]))
    marks = node.final["marks"]
    for resource, token in highest.items():
        mark = marks.get(resource, marks.get("", 0))
        if not resource.startswith("solo:") and mark < token:
            found.append(Violation("mark", f"{node.name}: the mark of {resource} is {mark}, but {token} was committed"))
    found += [Violation("audit", f"{node.name}: {finding}") for finding in node.final["audit"]]
    return found


def _purses(node):
    """Transfers keep the sum, as a whole and each by itself."""
    found = []
    sums = {}
    for row in node.journal:
        if row.source == "purse" and row.action == "UPDATE":
            sums.setdefault(row.by_tx, []).append(row.after - row.before)
    for tx, changes in sums.items():
        if sum(changes) != 0 or len(changes) != 2:
            found.append(Violation("lost update", f"{node.name}: the transfer {tx} changed the purses by {changes}", [tx]))
    groups = {}
    for identifier, amount, *_ in node.final["tables"]["purse"]:
        groups.setdefault(identifier.partition(":")[0], []).append(amount)
    for group, amounts in groups.items():
        if sum(amounts) != 1000 * len(amounts):
            found.append(Violation("lost update", f"{node.name}: the purses of {group} hold {sum(amounts)}"))
    return found
