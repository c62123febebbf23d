"""All that a run needs: the servers, the links between them and the workers, and the workers."""

import os
import random
import threading

from .failover_faults import watched_pair
from .journal import Journal
from .link import Links
from .postgres import PostgresNode
from .processes import wait_until
from .redis_nodes import RedisNode, Sentinel
from .workers import Worker

HERE = os.path.dirname(os.path.abspath(__file__))
# A Redis that the nemesis fails over, one under sentinels, three independent ones, PostgreSQL alone.
GROUPS = ("man", "sen", "red", "db")
RESOURCES = 2                  # of each family (acct, solo, once) in each group


class Stage:
    def __init__(self, directory, installation, worker_program, seed, fsync=True, workers=4):
        self.primary = self.standby = self.redis = self.replica = None
        self.watched, self.sentinels, self.independent = [], [], []
        self.directory = directory
        self.installation = installation
        self.worker_program = worker_program
        self.seed = seed
        self.fsync = fsync
        self.random = random.Random(f"{seed}/stage")
        os.makedirs(directory, exist_ok=True)
        self.journal = Journal(os.path.join(directory, "nemesis.jsonl"))
        self.histories = os.path.join(directory, "histories")
        os.makedirs(self.histories)
        os.chmod(directory, 0o755)  # PostgreSQL's user looks for its data below it
        self.links = Links()
        self.generation = -1   # of tokens, when the present primary became one
        self.next_failover = 0  # not earlier, in seconds of the monotonic clock
        self.retired = []      # PostgreSQL nodes that are down for good
        self.workers = []
        self.worker_count = workers
        self.guard = threading.RLock()  # of the set of workers, and of who is the primary

    def open(self, enforce):
        self._open_postgres(enforce)
        self._open_redis()
        self._open_sentinels()
        self._open_independent()
        for index in range(self.worker_count):
            self._add_worker(index)

    # PostgreSQL: a primary and a standby that streams through a link.

    def _open_postgres(self, enforce):
        self.primary = PostgresNode(self.installation, self.directory, "pg1", self.fsync)
        self.primary.make_cluster()
        self.primary.start()
        self.primary.execute_file(os.path.join(HERE, "schema.sql"))
        ids = [f"{group}:{n}" for group in GROUPS for n in range(RESOURCES)]
        self.primary.rows("SELECT torture_add_resources(%s)", ids)
        self.primary.rows("SELECT torture_guard()")
        if not enforce:
            self.primary.rows("SELECT torture_unfence()")
        self.pg_link = self.links.new("pg", self.primary.port)
        self.pg_twin_link = self.links.new("pg_twin", self.primary.port)  # the way of half of the workers
        self.pg_replication = self.links.new("pg_replication", self.primary.port)
        self.new_standby()

    def new_standby(self):
        self.pg_replication.refusing = False
        self.pg_replication.route(self.primary.port)
        name = f"pg{len(self.retired) + 2}"
        self.standby = PostgresNode(self.installation, self.directory, name, self.fsync)
        self.standby.make_standby_of(self.primary, self.pg_replication.port)
        self.standby.start()

    def database(self, link):
        return (f"host=127.0.0.1 port={link.port} user=postgres dbname=postgres sslmode=disable "
                "gssencmode=disable connect_timeout=2 options='-c statement_timeout=4000'")

    # Redis: a primary and a replica, through links; what is the primary is the nemesis' business.

    def _open_redis(self):
        self.redis = RedisNode(self.directory, "redis_a")
        self.redis.start()
        self.man_link = self.links.new("man", self.redis.port)
        self.twin_link = self.links.new("twin", self.redis.port)  # the way of half of the workers
        self.replica_link = self.links.new("replica", self.redis.port)
        self.replica = RedisNode(self.directory, "redis_b", replica_of=self.replica_link.port)
        self.replica.start()
        wait_until(self.replica.in_step, what="the replica")

    def _open_sentinels(self):
        self.watched = [RedisNode(self.directory, "redis_c")]
        self.watched[0].start()
        self.watched.append(RedisNode(self.directory, "redis_d", replica_of=self.watched[0].port))
        self.watched[1].start()
        wait_until(self.watched[1].in_step, what="the watched replica")
        self.sentinels = [Sentinel(self.directory, f"sentinel_{n}", self.watched[0].port) for n in range(3)]
        for sentinel in self.sentinels:
            sentinel.start()
        for sentinel in self.sentinels:
            wait_until(lambda one=sentinel: one.knows(2, 1), what="the sentinels")

    def _open_independent(self):
        self.independent = [RedisNode(self.directory, f"redis_r{n}") for n in range(3)]
        for node in self.independent:
            node.start()

    # Workers.

    def _add_worker(self, index):
        link = self.man_link if index % 2 == 0 else self.twin_link
        pg_link = self.pg_link if index % 4 < 2 else self.pg_twin_link
        places = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        routes = {"redis.man": f"redis://127.0.0.1:{link.port}", "redis.sen": f"redis+sentinel://{places}/torture",
                  "redlock.red": ",".join(f"redis://127.0.0.1:{node.port}" for node in self.independent)}
        worker = Worker(self.worker_program, self.histories, index, self.random.randrange(1, 10**9), routes,
                        self.database(pg_link), self.journal, resources=RESOURCES)
        self.workers.append(worker)
        worker.start()

    def settle(self):
        """Until every way leads to a server that serves."""
        watched_pair(self)
        wait_until(self.primary.accepts, what="PostgreSQL")
        wait_until(self.redis.is_primary, what="Redis")

    def leases_instead(self, group):
        """Waits until PostgreSQL has granted leases of a group that is granted them elsewhere; returns how many."""
        since = self.primary.value("SELECT clock_timestamp()")
        return wait_until(
            lambda: self.primary.value(
                "SELECT count(*) FROM fence_issuer WHERE resource LIKE %s AND lease_until > %s", f"%:{group}:%", since),
            what="a lease from PostgreSQL instead")

    def end_workers(self):
        return [worker.end() for worker in self.workers]

    def nodes(self):
        return [self.redis, self.replica, *self.watched, *self.independent]

    def close(self):
        """Everything ends; the primary writes down what it knows."""
        self.write_down(self.primary)
        self.stop()

    def write_down(self, node):
        """What the checker has to know of a PostgreSQL node, which runs, and is stopped."""
        directory = os.path.join(self.directory, "nodes")
        os.makedirs(directory, exist_ok=True)
        node.dump(os.path.join(directory, f"{node.name}.json"))

    def retire(self, node):
        """A former primary, which is down, and to which no link leads any more."""
        node.start()
        self.write_down(node)
        node.remove()

    def stop(self):
        for worker in self.workers:
            if worker.process.running():
                worker.kill()
        for node in [*self.nodes(), *self.sentinels]:
            if node and node.process and node.process.running():
                node.kill()
        for node in [*self.retired, self.primary, self.standby]:
            if node and node.process and node.process.running():
                node.crash()
