"""What somebody has to do in any installation: finish transactions whose second phase nobody came back for, and look for
locks that would never end."""

import random
import threading

import psycopg2
import redis

LONGEST_TTL = 1000  # ms: more than any worker asks for


class Watch(threading.Thread):
    def __init__(self, stage, seed):
        super().__init__(daemon=True)
        self.stage = stage
        self.random = random.Random(f"{seed}/watch")
        self.ending = threading.Event()
        self.seen = {}

    def run(self):
        while not self.ending.wait(0.3):
            self.resolve("1500 milliseconds")
            self.look_at_generation()
            self.look_for_endless_locks()

    def end(self):
        self.ending.set()
        self.join()

    def resolve(self, older_than):
        """Commits or rolls back, by chance: either is right for a transaction in doubt."""
        try:
            with self.stage.guard:
                node = self.stage.primary
            for (gid,) in node.rows("SELECT gid FROM pg_prepared_xacts WHERE prepared < now() - %s::interval", older_than):
                word = self.random.choice(["COMMIT", "ROLLBACK"])
                self.stage.journal.write("resolving", tx=gid, how=word, node=node.name)
                node.rows(f"{word} PREPARED '{gid}'")
                self.stage.journal.write("resolved", tx=gid, how=word, node=node.name)
        except psycopg2.Error:
            pass  # it is down, or the worker was faster: next time

    def look_at_generation(self):
        """Of tokens: which histories have started which."""
        with self.stage.guard:
            node = self.stage.primary
        try:
            generation = node.generation()
        except psycopg2.Error:
            return  # it is down
        if self.seen.get(node.name) != generation:
            self.seen[node.name] = generation
            self.stage.journal.write("generation", node=node.name, generation=generation)

    def look_for_endless_locks(self):
        for node in self.stage.nodes():
            try:
                for key in node.client().scan_iter(match="fencelock:v1:*:lock", count=1000):
                    ttl = node.client().pttl(key)
                    if ttl == -1 or ttl > LONGEST_TTL:
                        self.stage.journal.write("endless_lock", node=node.name, key=key.decode(), ttl=ttl)
            except (redis.RedisError, OSError):
                pass  # it is down

    def left(self):
        """Locks that are still held, once their time must be over."""
        locks = []
        for node in self.stage.nodes():
            if node.is_primary():
                locks += [f"{key.decode()} on {node.name}" for key in node.client().scan_iter(match="fencelock:v1:*:lock")
                          if node.client().pttl(key) != -2]
        locks += [f"{resource} in PostgreSQL" for (resource,) in self.stage.primary.rows(
            "SELECT resource FROM fence_issuer WHERE lease_owner IS NOT NULL AND lease_until > clock_timestamp()")]
        return locks
