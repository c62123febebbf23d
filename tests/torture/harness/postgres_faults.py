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


@fault
def pg_promote(stage, random):
    """A standby without the last commits takes over; what became of them is read from the former primary in the end."""
    old, new = stage.primary, stage.standby
    wait_until(lambda: new.value("SELECT status FROM pg_stat_wal_receiver UNION ALL SELECT 'none' LIMIT 1") == "streaming",
               120, "the standby")
    reached = old.value("SELECT pg_current_wal_lsn()")
    wait_until(lambda: new.value("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", reached), what="the standby to catch up")
    stage.pg_replication.refusing = True
    stage.pg_replication.cut()
    wait_until(lambda: new.value("SELECT count(*) FROM pg_stat_wal_receiver") == 0, what="the standby to lose its primary")
    received = new.value("SELECT pg_last_wal_receive_lsn()")
    written = old.value("SELECT count(*) FROM journal")
    goal = random.randrange(3, 40)
    wait_until(lambda: old.value("SELECT count(*) FROM journal") >= written + goal, what="commits that will be lost")
    lost = old.value("SELECT pg_current_wal_flush_lsn() - %s::pg_lsn", received)
    begun = time.monotonic_ns()
    old.crash()
    fork = new.promote()
    at_fork = new.issues()  # no client reaches it yet
    with stage.guard:
        stage.primary = new
        stage.retired.append(old)
    stage.pg_link.route(new.port)
    observed(new.value("SELECT NOT pg_is_in_recovery()") and lost > 0, f"{lost} bytes were lost")
    stage.new_standby()
    return {"node": new.name, "promoted": begun, "fork": fork, "lost_bytes": int(lost), "at_fork": at_fork}


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
