"""What can happen to one Redis server: it forgets, restarts, stops, evicts; single keys go or come back."""

import signal
import time

import redis

from .faults import fault, observed
from .processes import wait_until

MARKER = "torture:marker"


def _keys(client, kind):
    return list(client.scan_iter(match=f"fencelock:v1:*:{kind}", count=1000))


def _resource_of(key):
    return key.decode().partition("{")[2].rpartition("}")[0]


def _some_key(stage, random, kind):
    """A key of that kind which is there now."""
    return random.choice(sorted(wait_until(lambda: _keys(stage.redis.client(), kind), what=f"a {kind} key")))


def _text(fields):
    return {name.decode(): value.decode() for name, value in fields.items()}


@fault
def redis_flush(stage, random):
    transaction = stage.redis.client().pipeline(transaction=True)
    before, _, after = transaction.dbsize().flushall().dbsize().execute()
    observed(before > 0 and after == 0, f"{before} keys before, {after} after")
    return {"keys": before}


@fault
def redis_script_flush(stage, random):
    client = stage.redis.client()
    wait_until(lambda: client.info("memory")["number_of_cached_scripts"] > 0, what="a cached script")
    transaction = client.pipeline(transaction=True)
    before, _, after = transaction.info("memory").script_flush().info("memory").execute()
    count = "number_of_cached_scripts"
    observed(before[count] > 0 and after[count] == 0, "no script was cached")
    return {"scripts": before[count]}


@fault
def redis_del_lock(stage, random):
    for _ in range(100):
        key = _some_key(stage, random, "lock")
        if stage.redis.client().delete(key):
            return {"resource": _resource_of(key)}
    observed(False, "every lock was gone before it was deleted")


@fault
def redis_del_state(stage, random):
    key = _some_key(stage, random, "state")
    observed(stage.redis.client().delete(key) == 1, "the state was gone")
    return {"resource": _resource_of(key)}


@fault
def redis_restore_lock(stage, random):
    """An old lock of an earlier holder comes back, for a while."""
    client = stage.redis.client()
    for _ in range(100):
        key = _some_key(stage, random, "lock")
        dumped, old = client.pipeline(transaction=True).dump(key).get(key).execute()
        if dumped is None:
            continue
        wait_until(lambda: client.get(key) != old, what="another lock")
        ttl = random.randrange(100, 700)
        _, now = client.pipeline(transaction=True).restore(key, ttl, dumped, replace=True).get(key).execute()
        observed(now == old, "another lock is there")
        return {"resource": _resource_of(key), "lock": old.decode(), "ttl": ttl}
    observed(False, "no lock stayed")


@fault
def redis_restore_state(stage, random):
    """The counter goes back: the one thing that nothing in Redis can see. Tokens of one block are handed out twice."""
    client = stage.redis.client()
    key = _some_key(stage, random, "state")
    for _ in range(50):
        dumped, old = client.pipeline(transaction=True).dump(key).hgetall(key).execute()
        if dumped is None or b"last" not in old:
            time.sleep(0.05)
            continue
        wait_until(lambda: client.hget(key, "last") not in (old[b"last"], None), what="another count")
        now, _ = client.pipeline(transaction=True).hgetall(key).restore(key, 60_000, dumped, replace=True).execute()
        return {"resource": _resource_of(key), "old": _text(old), "replaced": _text(now)}
    observed(False, "no state was there")


@fault
def redis_evict(stage, random):
    client = stage.redis.client()
    before = client.info("stats")["evicted_keys"]
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("maxmemory", 1)
    try:
        def evicted():
            try:
                client.set(MARKER, "x")
            except redis.RedisError:
                pass  # out of memory: that is the point
            return client.info("stats")["evicted_keys"] - before
        count = wait_until(evicted, what="an eviction")
    finally:
        client.config_set("maxmemory", 0)
    return {"keys": count}


def _restart(stage, random, forget):
    node = stage.redis
    node.client().set(MARKER, "before")
    run = node.info("server")["run_id"]
    node.kill() if forget or random.random() < 0.5 else node.stop()
    if forget:
        node.forget()
    node.start()
    kept = node.client().get(MARKER) is not None
    observed(node.info("server")["run_id"] != run and kept != forget, f"kept: {kept}")
    return {"node": node.name}


@fault
def redis_restart_empty(stage, random):
    return _restart(stage, random, forget=True)


@fault
def redis_restart_kept(stage, random):
    return _restart(stage, random, forget=False)


@fault
def redis_pause(stage, random):
    process = stage.redis.process
    process.send(signal.SIGSTOP)
    try:
        wait_until(process.is_stopped, what="the server to stop")
        seconds = random.uniform(0.2, 1.2)
        time.sleep(seconds)
        observed(process.is_stopped(), "it was not stopped all the time")
    finally:
        process.send(signal.SIGCONT)
    return {"seconds": round(seconds, 2)}


@fault
def redis_away(stage, random):
    """Down until leases of its resources come from PostgreSQL, then up until they come from it again."""
    node = stage.redis
    node.kill()
    try:
        leases = stage.leases_instead("man")
        if random.random() < 0.5:
            node.forget()
    finally:
        node.start()
    before = node.counters()
    wait_until(lambda: node.counters() != before, what="a grant from Redis again")
    return {"leases": leases}
