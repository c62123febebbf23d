"""What can happen to PostgreSQL: crashes, a failover that loses the last commits, sessions ended, marks pruned, tables rewritten."""

import os
import time

import psycopg2

from .faults import fault, observed
from .processes import wait_until


def _old_log(node):
    return os.path.getsize(node.log)


def _log_since(node, position):
    with open(node.log, errors="replace") as file:
        file.seek(position)
        return file.read()


@fault
def pg_crash(stage, random):
    node = stage.primary
    started = node.value("SELECT pg_postmaster_start_time()")
    position = _old_log(node)
    node.crash()
    time.sleep(random.uniform(0, 0.6))
    node.start()
    observed(node.value("SELECT pg_postmaster_start_time()") > started, "it did not start anew")
    observed("was not properly shut down" in _log_since(node, position), "there was nothing to recover")
    return {"node": node.name}


def _journal_rows(node):
    return node.value("SELECT count(*) FROM journal")


def _cut_off_standby(stage, random):
    """The standby gets nothing more, while its primary goes on for some commits. Returns how many bytes of WAL it misses."""
    old, new = stage.primary, stage.standby
    # As docs/operations.md asks for: two copies must not start a generation in the same ten seconds, and in a split the
    # former primary may have started one, too.
    wait_until(lambda: time.monotonic() > stage.next_failover, what="ten seconds since the last split")
    # It must know of the present generation of tokens, else the next one could get the same number by the clock.
    wait_until(lambda: old.generation() > stage.generation, what="an issue")
    wait_until(lambda: new.value("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'") == 1, 120, "the standby")
    reached = old.value("SELECT pg_current_wal_lsn()")
    wait_until(lambda: new.value("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", reached), what="the standby to catch up")
    stage.pg_replication.refusing = True
    stage.pg_replication.cut()
    wait_until(lambda: new.value("SELECT count(*) FROM pg_stat_wal_receiver") == 0, what="the standby to lose its primary")
    received = new.value("SELECT pg_last_wal_receive_lsn()")
    goal = _journal_rows(old) + random.randrange(3, 40)
    wait_until(lambda: _journal_rows(old) >= goal, what="commits that will be lost")
    lost = old.value("SELECT pg_current_wal_flush_lsn() - %s::pg_lsn", received)
    observed(lost > 0, "nothing was lost")
    return int(lost)


def _promote_standby(stage):
    """What the new primary knows before any client comes is written down."""
    new = stage.standby
    begun = time.monotonic_ns()
    fork = new.promote()
    observed(not new.value("SELECT pg_is_in_recovery()"), "it is still a standby")
    stage.generation = new.generation()
    with stage.guard:
        stage.retired.append(stage.primary)
        stage.primary = new
    stage.journal.write("promotion", node=new.name, begun=begun, fork=fork, at_fork=new.issues())


def _left_alone(stage):
    """Nobody reaches the former primary any more."""
    stage.journal.write("alone", node=stage.primary.name)
    stage.new_standby()
    stage.retire(stage.retired[-1])


@fault
def pg_promote(stage, random):
    """A standby without the last commits takes over; what became of them is read from the former primary in the end."""
    lost = _cut_off_standby(stage, random)
    stage.primary.crash()
    _promote_standby(stage)
    stage.pg_link.route(stage.primary.port)
    stage.pg_twin_link.route(stage.primary.port)
    _left_alone(stage)
    return {"lost_bytes": lost, "node": stage.primary.name}


@fault
def pg_split(stage, random):
    """The same, but the former primary lives on for a while, and half of the workers go on with it."""
    lost = _cut_off_standby(stage, random)
    old = stage.primary
    _promote_standby(stage)
    new = stage.primary
    stage.pg_link.route(new.port)
    rows = {node: _journal_rows(node) for node in (old, new)}
    goal = random.randrange(3, 30)
    wait_until(lambda: all(_journal_rows(node) >= rows[node] + goal for node in rows), what="commits on both")
    written = {node.name: _journal_rows(node) - rows[node] for node in rows}
    old.crash()
    stage.pg_twin_link.route(new.port)
    stage.next_failover = time.monotonic() + 11
    _left_alone(stage)
    return {"lost_bytes": lost, "rows": written, "node": new.name}


@fault
def pg_terminate(stage, random):
    def end_some():
        pids = [row[0] for row in stage.primary.rows(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND client_port > 0 ORDER BY pid")]
        chosen = random.sample(pids, min(len(pids), 3))
        return sum(stage.primary.value("SELECT pg_terminate_backend(%s)", pid) for pid in chosen)
    return {"sessions": wait_until(end_some, what="a session")}


@fault
def pg_prune(stage, random):
    """Far earlier than anybody should: that costs refusals, never a stale write."""
    return {"resources": wait_until(lambda: stage.primary.value("SELECT fence_prune('50 milliseconds')"), what="a pruned resource")}


@fault
def pg_rewrite(stage, random):
    """The tables of marks and issues get new files."""
    table = random.choice(["fence_resource", "fence_issuer"])
    command = random.choice([f"VACUUM FULL {table}", f"CLUSTER {table} USING {table}_pkey"])
    path = "SELECT pg_relation_filepath(%s::regclass)"

    def rewritten():
        before = stage.primary.value(path, table)
        try:
            stage.primary.rows("SET lock_timeout = '3s'; " + command if command.startswith("CLUSTER") else command)
        except psycopg2.Error:
            return False  # a deadlock, or too many writers
        return stage.primary.value(path, table) != before
    wait_until(rewritten, what="the table to be rewritten")
    return {"command": command}
