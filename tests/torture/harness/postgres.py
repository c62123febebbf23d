"""PostgreSQL servers: a primary, standbys that follow it through a link, and what became of each."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import psycopg2

from checker.records import JOURNAL_COLUMNS

from .processes import Child, free_port, tail, wait_until

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_preload_libraries": "fencelock",
    "fencelock.preempt_after": "600ms",
    "wal_level": "replica",
    "wal_keep_size": "200GB",  # the order of commits is read from it in the end
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "max_connections": "200",
    "max_prepared_transactions": "50",
    "max_wal_senders": "8",
    "wal_receiver_timeout": "5s",
    "wal_sender_timeout": "5s",
    "wal_retrieve_retry_interval": "100ms",
    "autovacuum_naptime": "5s",
    "deadlock_timeout": "200ms",
    "log_line_prefix": "%m [%p] ",
}


def lsn_number(text):
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


class PostgresNode:
    """One server with its data directory. Its port tells it apart in the workers' histories."""

    def __init__(self, installation, directory, name, fsync):
        self.bin = installation
        self.name = name
        self.directory = os.path.join(directory, name)
        self.data = os.path.join(self.directory, "data")
        self.log = os.path.join(self.directory, "log")
        self.port = free_port()
        self.fsync = fsync
        self.process = None
        self.crashed_at = None  # until it is started again
        self.recoveries = []    # (when it crashed, the LSN of the last record that was left)
        self.timeline = 1
        self.parent = None    # the name of the node whose standby this was
        self.fork_lsn = None  # where their histories part
        os.makedirs(self.directory, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres")

    def tool(self, name, *arguments):
        command = [os.path.join(self.bin, name), *map(str, arguments)]
        status = Child(command, self.log, user="postgres").wait(300)
        if status != 0:
            raise RuntimeError(f"{name} failed ({status}):\n{tail(self.log)}")

    def make_cluster(self):
        self.tool("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync")

    def make_standby_of(self, primary, through_port):
        """A copy of the primary, which will stream through the given port."""
        self.tool("pg_basebackup", "-D", self.data, "-U", "postgres", "-h", "127.0.0.1", "-p", through_port,
                  "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self.parent = primary.name
        self.timeline = primary.timeline

    def start(self):
        arguments = [os.path.join(self.bin, "postgres"), "-D", self.data]
        for name, value in {**SETTINGS, "fsync": "on" if self.fsync else "off"}.items():
            arguments += ["-c", f"{name}={value}"]
        log_before = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        for _ in range(20):
            self.process = Child(arguments + ["-c", f"unix_socket_directories={self.directory}", "-p", self.port],
                                 self.log, user="postgres", end=signal.SIGQUIT)
            wait_until(lambda: self.accepts() or not self.process.running(), 120, f"{self.name} to accept")
            if self.process.running():
                self._note_recovery(log_before)
                return
            if "already in use" not in tail(self.log):
                break
            self.port = free_port()
        raise RuntimeError(f"{self.name} did not start:\n{tail(self.log)}")

    def _note_recovery(self, log_before):
        """What was behind that record is gone, and the numbers of transactions that were only there are used again."""
        if self.crashed_at is None:
            return
        with open(self.log, errors="replace") as file:
            file.seek(log_before)
            redo = re.findall(r"redo done at ([0-9A-F]+/[0-9A-F]+)", file.read())
        if redo:
            self.recoveries.append((self.crashed_at, lsn_number(redo[-1])))
        self.crashed_at = None

    def accepts(self):
        try:
            self.connect().close()
            return True
        except psycopg2.OperationalError:
            return False

    def stop(self):
        self.process.stop(signal.SIGINT)

    def crash(self):
        """Immediate shutdown: the next start recovers from the WAL."""
        self.process.stop(signal.SIGQUIT)
        self.crashed_at = time.monotonic_ns()

    def connect(self):
        connection = psycopg2.connect(host=self.directory, port=self.port, user="postgres", dbname="postgres",
                                      connect_timeout=5)
        connection.autocommit = True
        return connection

    def rows(self, sql, *parameters):
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def value(self, sql, *parameters):
        return self.rows(sql, *parameters)[0][0]

    def execute_file(self, path):
        with open(path) as file:
            self.rows(file.read())

    def promote(self):
        """Returns where the history of the former primary ends for this one."""
        self.rows("SELECT pg_promote(true, 120)")
        self.timeline += 1
        history = os.path.join(self.data, "pg_wal", f"{self.timeline:08X}.history")
        with open(history) as file:
            last = [line for line in file if re.match(r"\d+\s", line)][-1]
        self.fork_lsn = lsn_number(last.split()[1])
        return self.fork_lsn

    def generation(self):
        """Of tokens, the newest that this server knows of."""
        return self.value("SELECT max(generation) FROM fence_history_state")

    def issues(self):
        """What this server knows about issues and marks now."""
        return {
            "generation": self.generation(),
            "issued": dict(self.rows("SELECT resource, issued FROM fence_issuer")),
            "marks": dict(self.rows("SELECT resource, mark FROM fence_resource")),
        }

    # What is left in the end.

    def dump(self, path):
        """Writes all that the checker needs to know about this node to a file; the node runs, and is stopped."""
        content = {
            "name": self.name, "port": self.port, "timeline": self.timeline, "parent": self.parent,
            "fork_lsn": self.fork_lsn, "recoveries": self.recoveries, **self.issues(),
            "audit": self.rows("SELECT target::text, finding FROM fence_audit()"),
            "journal": self.rows(f"SELECT {', '.join(JOURNAL_COLUMNS)} FROM journal ORDER BY number"),
            "tables": {
                table: self.rows(f"SELECT id, {value}, by_tx, by_token, {token} FROM {table}")
                for table, value, token in [
                    ("account", "counter", "fence_token"), ("ledger", "counter", "fence_token"),
                    ("bare", "counter", "NULL::bigint"), ("solo", "counter", "fence_token"),
                    ("once", "counter", "fence_token"), ("purse", "amount", "fence_token")]},
        }
        self.stop()
        content["ends"] = self.transaction_ends()
        with open(path, "w") as file:
            json.dump(content, file)

    def transaction_ends(self):
        """[xid, LSN, committed] of each transaction that ended on this node's own timeline, in the WAL's order."""
        wal = os.path.join(self.data, "pg_wal")
        segments = sorted(name for name in os.listdir(wal) if re.fullmatch(f"{self.timeline:08X}[0-9A-F]{{16}}", name))
        first = segments[0]
        start = self.fork_lsn if self.fork_lsn is not None else (
            (int(first[8:16], 16) << 32) + int(first[16:24], 16) * 16 * 1024 * 1024)
        output = subprocess.run(
            [os.path.join(self.bin, "pg_waldump"), "--path", wal, "--timeline", str(self.timeline),
             "--start", f"{start >> 32:X}/{start & 0xFFFFFFFF:X}", "--rmgr", "Transaction"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        # (It ends with an error where the WAL ends.)
        ends = []
        for line in output.stdout.splitlines():
            found = re.search(r"tx:\s*(\d+), lsn: (\S+), prev \S+, desc: (COMMIT|ABORT)(_PREPARED (\d+))?", line)
            if found:
                xid = int(found.group(5) or found.group(1))
                ends.append([xid, lsn_number(found.group(2)), found.group(3) == "COMMIT"])
        if not ends:
            raise RuntimeError(f"no transactions in the WAL of {self.name}: {output.stderr}")
        return ends

    def remove(self):
        shutil.rmtree(self.data, ignore_errors=True)
