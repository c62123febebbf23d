"""Redis (or Valkey) servers and sentinels, started on private ports with data directories of their own."""

import os
import shutil
import signal

import redis

from .processes import Child, free_port, tail, wait_until

SERVER = os.environ.get("FENCELOCK_REDIS_SERVER") or shutil.which("redis-server") or shutil.which("valkey-server")


class RedisNode:
    def __init__(self, directory, name, replica_of=None):
        self.name = name
        self.directory = os.path.join(directory, name)
        self.port = free_port()
        self.replica_of = replica_of  # a port
        self.process = None
        self._client = None
        os.makedirs(self.directory, exist_ok=True)

    def arguments(self):
        arguments = [SERVER, "--port", self.port, "--bind", "127.0.0.1", "--dir", self.directory, "--save", "",
                     "--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--unixsocket", self.socket()]
        if self.replica_of:
            arguments += ["--replicaof", "127.0.0.1", self.replica_of]
        return arguments

    def socket(self):
        return os.path.join(self.directory, "socket")

    def start(self):
        log = os.path.join(self.directory, "log")
        for _ in range(20):
            if os.path.exists(self.socket()):
                os.unlink(self.socket())
            self.process = Child(self.arguments(), log)
            wait_until(lambda: self.answers() or not self.process.running(), 60, f"{self.name} to answer")
            if self.process.running():
                return
            if "already in use" not in tail(log):
                break
            self.port = free_port()
        raise RuntimeError(f"{self.name} did not start:\n{tail(log)}")

    def answers(self):
        try:
            return self.client().ping()
        except redis.RedisError:
            return False

    def client(self):
        """Through the private socket: on the port somebody else might answer."""
        if self._client is None:
            self._client = redis.Redis(unix_socket_path=self.socket(), socket_timeout=5, decode_responses=False)
        return self._client

    def stop(self):
        self.process.stop(signal.SIGTERM)

    def kill(self):
        self.process.stop(signal.SIGKILL)

    def forget(self):
        """Removes what was persisted; the server is down."""
        for entry in os.listdir(self.directory):
            path = os.path.join(self.directory, entry)
            if entry == "appendonlydir" or entry.endswith((".rdb", ".aof")):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def info(self, section):
        return self.client().info(section)

    def is_primary(self):
        try:
            return self.info("replication")["role"] == "master"
        except redis.RedisError:
            return False

    def lineage(self):
        return self.info("replication")["master_replid"]

    def counters(self):
        """Key -> the last token handed out in the present lineage, which changes when a replica comes, too."""
        lineage = self.lineage().encode()
        counters = {}
        for key in self.client().scan_iter(match="fencelock:v1:*:state", count=1000):
            counted_in, last = self.client().hmget(key, "lineage", "last")
            if counted_in == lineage:
                counters[key] = last
        return counters

    def offset(self):
        """How much of the replication stream this node has written, or applied."""
        about = self.info("replication")
        return about["master_repl_offset"] if about["role"] == "master" else about["slave_repl_offset"]

    def follow(self, port):
        """Makes it a replica of the server behind the port; None: a primary."""
        self.replica_of = port
        if port is None:
            self.client().execute_command("REPLICAOF", "NO", "ONE")
        else:
            self.client().execute_command("REPLICAOF", "127.0.0.1", port)

    def in_step(self):
        about = self.info("replication")
        return about["role"] == "slave" and about["master_link_status"] == "up" and not about["master_sync_in_progress"]


class Sentinel(RedisNode):
    """Watches one primary, under the name `torture`."""

    def __init__(self, directory, name, primary_port, quorum=2):
        super().__init__(directory, name)
        self.configuration = os.path.join(self.directory, "sentinel.conf")
        with open(self.configuration, "w") as file:
            file.write(f"sentinel monitor torture 127.0.0.1 {primary_port} {quorum}\n"
                       "sentinel down-after-milliseconds torture 800\n"
                       "sentinel failover-timeout torture 4000\n")

    def arguments(self):
        return [SERVER, self.configuration, "--sentinel", "--port", self.port, "--bind", "127.0.0.1",
                "--dir", self.directory, "--unixsocket", self.socket()]

    def primary_port(self):
        return int(self.client().execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "torture")[1])

    def knows(self, sentinels, replicas):
        raw = self.client().execute_command("SENTINEL", "MASTER", "torture")
        if not isinstance(raw, dict):
            raw = dict(zip(raw[::2], raw[1::2]))
        about = {_text(key): _text(value) for key, value in raw.items()}
        return int(about["num-other-sentinels"]) == sentinels and int(about["num-slaves"]) == replicas


def _text(value):
    return value.decode() if isinstance(value, bytes) else value
