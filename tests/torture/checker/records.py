"""What a run left behind: the workers' histories, the nemesis' journal, and what each PostgreSQL node knew in the end.

Times are ns of the machine's monotonic clock; where an event is absent its time is None.
"""

import glob
import json
import os
from dataclasses import dataclass, field
from functools import cached_property

PROMOTIONS = ("pg_promote", "pg_split")
UNKNOWN = (-1, 0)  # the position of a row whose transaction is not in the WAL
JOURNAL_COLUMNS = ("xid", "source", "action", "resource", "by_tx", "by_token", "fence_token", "before", "after")


@dataclass
class Grant:
    op: "Operation"
    resource: str
    token: int
    owner: str
    issuer: str
    returned: int


@dataclass
class Operation:
    """One acquire, of one or two resources, and what became of its leases."""
    name: str
    group: str
    resources: list
    ttl: int  # ns
    confirm: bool
    invoked: int
    grants: dict = field(default_factory=dict)  # resource -> Grant
    busy_at: int = None
    failed: str = None  # why nothing was granted
    failed_at: int = None
    over: dict = field(default_factory=dict)  # resource -> (time, how the lease was ended by its holder)
    worker_died: int = None
    why: str = ""


@dataclass
class Transaction:
    name: str
    way: str
    tokens: dict  # resource -> token
    fenced: bool  # what it read is fenced: by its own claim, or one that was confirmed before
    begun: int
    node: str = None
    xid: int = None
    lsn: int = None     # of the WAL's end after the claim
    rows: int = 0       # written, as the worker was told
    writing: bool = False  # a statement was sent and not answered
    outcome: str = "unknown"
    ended: int = None
    error: str = ""
    sqlstate: str = ""
    why: str = ""
    asked: str = None  # what the server said of it by a receipt

    def claimed(self):
        return self.way not in ("stamp", "stamp_sql", "setting", "unfenced")

    @property
    def op(self):
        return self.name.rpartition(".")[0]


@dataclass
class Row:
    """One line of a node's journal, in the order of JOURNAL_COLUMNS: one row that was written."""
    xid: int
    source: str
    action: str
    resource: str
    by_tx: str
    token: int       # the writer's
    fence_token: int  # what the guard left in the row
    before: int
    after: int
    position: tuple  # in the order of commits


@dataclass
class Node:
    """One PostgreSQL server, with the history that it inherited."""
    name: str
    port: int
    parent: str
    fork_lsn: int
    commits: dict       # xid -> (generation of node, LSN), inherited ones included
    own_ends: dict      # xid -> (LSN, committed): on this node's own timeline; see end_of
    journal: list
    final: dict         # tables, marks, issued, audit
    promoted: int = None  # when
    alone: int = None     # from when on nobody reached the former primary any more
    at_fork: dict = None  # issued and marks before any client came
    generations: set = field(default_factory=set)  # of tokens: those that it inherited, and those that it started

    @cached_property
    def writers(self):
        """(name, xid) of the transactions that have rows in the journal."""
        return {(row.by_tx, row.xid) for row in self.journal}

    def end_of(self, tx):
        """(LSN, committed) of a transaction on this node; None where it left no trace. One that no disk knew of at a crash has
        none: its number was used again, by whoever has rows under it. One with rows of its own was known, as one that was
        prepared before the crash is, or came only after it."""
        end = self.own_ends.get(tx.xid)
        crossed = end and any(tx.begun < crashed and end[0] > last for crashed, last in self.final["recoveries"])
        if crossed and (tx.name, tx.xid) not in self.writers:
            return None
        return end


class Evidence:
    """The files as they are."""

    def __init__(self, directory):
        self.nemesis = _read(os.path.join(directory, "nemesis.jsonl"))
        self.histories = {os.path.basename(path)[:-6]: _read(path)
                          for path in sorted(glob.glob(os.path.join(directory, "histories", "*.jsonl")))}
        self.nodes = []
        for path in glob.glob(os.path.join(directory, "nodes", "*.json")):
            with open(path) as file:
                self.nodes.append(json.load(file))
        self.nodes.sort(key=lambda node: node["timeline"])


class Run:
    """The files as what they tell of."""

    def __init__(self, evidence):
        self.lines = {}  # name of operation, transaction -> its events, for people
        self.operations = {}
        self.transactions = {}
        self.nemesis = evidence.nemesis
        self.crashes = []
        deaths = {e["worker"]: e["t"] for e in self.nemesis if e["e"] == "worker_ended"}
        for worker, events in evidence.histories.items():
            self._take_history(events, deaths.get(worker))
        self.nodes = _nodes(evidence.nodes, self.nemesis)
        ports = {node.port: node.name for node in self.nodes}
        for tx in self.transactions.values():
            tx.node = ports.get(tx.node)

    def faults(self, *kinds):
        return [e for e in self.nemesis if e["e"] == "fault" and e["kind"] in kinds]

    def grants(self):
        return [grant for op in self.operations.values() for grant in op.grants.values()]

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def _take_history(self, events, died):
        for event in events:
            name = event.get("tx") or event.get("op")
            if name:
                self.lines.setdefault(name, []).append(event)
            if event["e"] == "crashed":
                self.crashes.append(event)
            elif event["e"] == "acquire":
                resources = [event["resource"]] + ([event["other"]] if event["other"] else [])
                self.operations[name] = Operation(name, event["group"], resources, event["ttl"] * 1_000_000,
                                                  event["confirm"], event["t"], worker_died=died)
            elif "op" in event:
                _take_operation_event(self.operations[name], event)
            elif event["e"] == "begin":
                tokens = {event["resource"]: event["token"]}
                if "other" in event:
                    tokens[event["other"]] = event["other_token"]
                self.transactions[name] = Transaction(name, event["way"], tokens, event["fenced"], event["t"])
            elif "tx" in event:
                _take_transaction_event(self.transactions[name], event)


def _take_operation_event(op, event):
    kind = event["e"]
    if kind == "granted":
        op.grants[event["resource"]] = Grant(op, event["resource"], event["token"], event["owner"], event["issuer"], event["t"])
    elif kind == "busy":
        op.busy_at = event["t"]
    elif kind == "not_granted":
        op.failed, op.failed_at, op.why = event["error"], event["t"], event["what"]
    elif kind in ("released", "destroyed", "detached"):
        op.over[event["resource"]] = (event["t"], event.get("outcome", kind))


def _take_transaction_event(tx, event):
    kind = event["e"]
    if kind == "here":
        tx.node, tx.xid, tx.lsn = event["node"], event["xid"], event["lsn"]
    elif kind == "write":
        tx.writing = True
    elif kind == "wrote":
        tx.writing = False
        tx.rows += event["rows"]
    elif kind in ("committed", "rolled_back", "refused", "aborted", "unknown"):
        tx.outcome, tx.ended = kind, event["t"]
        tx.error, tx.sqlstate, tx.why = event.get("error", ""), event.get("sqlstate", ""), event.get("what", "")
    elif kind == "asked":
        tx.asked = event["outcome"]
        if tx.asked in ("committed", "aborted"):  # as good as an answer
            tx.outcome, tx.error = tx.asked, "receipt"


def _read(path):
    """A last line that was cut off by the end of its process is no event."""
    events = []
    with open(path) as file:
        for line in file:
            if line.endswith("\n"):
                events.append(json.loads(line))
    return events


def _nodes(contents, nemesis):
    nodes = {}
    promoted = {e["node"]: e for e in nemesis if e["e"] == "promotion"}
    alone = {e["node"]: e["t"] for e in nemesis if e["e"] == "alone"}
    seen = {}
    for e in nemesis:
        if e["e"] == "generation":
            seen.setdefault(e["node"], set()).add(e["generation"])
    for number, content in enumerate(contents):
        parent = nodes.get(content["parent"])
        own = {xid: (lsn, committed) for xid, lsn, committed in content["ends"]}
        commits = {xid: (number, lsn) for xid, (lsn, committed) in own.items() if committed}
        if parent:
            commits.update({xid: at for xid, at in parent.commits.items() if not _lost(at, parent, content["fork_lsn"], nodes)})
        node = Node(content["name"], content["port"], content["parent"], content["fork_lsn"], commits, own,
                    [], content)
        event = promoted.get(node.name)
        if event:
            node.promoted, node.alone, node.at_fork = event["begun"], alone[node.name], event["at_fork"]
        node.generations = {content["generation"]} | seen.get(node.name, set())
        if parent:
            node.generations |= {number for number in parent.generations if number <= node.at_fork["generation"]}
        node.journal += [Row(*line, node.commits.get(line[0], UNKNOWN)) for line in content["journal"]]
        node.journal.sort(key=lambda row: row.position)
        nodes[node.name] = node
    return list(nodes.values())


def _lost(at, parent, fork_lsn, nodes):
    """Whether a commit that the parent knows lies behind the fork."""
    number, lsn = at
    return number == list(nodes).index(parent.name) and lsn >= fork_lsn
