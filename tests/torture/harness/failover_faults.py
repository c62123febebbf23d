"""What can happen to a primary of Redis and its replica: promotions that lose the last writes, and two primaries at once."""

import signal
import time

import redis

from .faults import fault, observed
from .processes import wait_until


def _lag_behind(stage):
    """The replica gets nothing any more while its primary goes on; returns by how many bytes it lags."""
    wait_until(stage.replica.in_step, what="the replica")
    stage.replica_link.hold()
    behind = stage.replica.offset()
    # Replication's own pings count too, so wait for more than they have.
    wait_until(lambda: stage.redis.offset() - behind > 500, what="the replica to lag")
    return stage.redis.offset() - stage.replica.offset()


def _promote(stage):
    """The replica becomes a primary; both live. Returns the lineages before and after."""
    before = stage.redis.lineage()
    stage.replica.follow(None)
    wait_until(stage.replica.is_primary, what="the promotion")
    after = stage.replica.lineage()
    observed(before != after, "the lineage stayed")
    return before, after


def _swap(stage):
    stage.redis, stage.replica = stage.replica, stage.redis


def _follow_again(stage):
    """What was the primary is the replica of the new one, through the link."""
    stage.replica_link.release()
    stage.replica_link.route(stage.redis.port)
    stage.replica.follow(stage.replica_link.port)
    wait_until(stage.replica.in_step, what="the former primary to follow")


@fault
def redis_promote(stage, random):
    """The primary dies, a replica without its last writes takes over."""
    lag = _lag_behind(stage)
    old = stage.redis
    lineage = old.lineage()
    old.kill()
    stage.replica.follow(None)
    wait_until(stage.replica.is_primary, what="the promotion")
    observed(stage.replica.lineage() != lineage, "the lineage stayed")
    _swap(stage)
    stage.man_link.route(stage.redis.port)
    stage.twin_link.route(stage.redis.port)
    if random.random() < 0.5:
        old.forget()
    old.replica_of = None
    old.start()
    _follow_again(stage)
    return {"lag": lag, "node": stage.redis.name}


@fault
def redis_split(stage, random):
    """Two primaries at once: half of the workers reach the old one, half the new one."""
    lag = _lag_behind(stage)
    old, new = stage.redis, stage.replica
    _promote(stage)
    stage.man_link.route(new.port)
    before = {node: node.counters() for node in (old, new)}
    began = time.monotonic()
    wait_until(lambda: all(node.counters() != before[node] for node in before), what="grants of both")
    wait_until(lambda: time.monotonic() - began > 0.7)
    observed(old.is_primary() and new.is_primary(), "there was one primary only")
    _swap(stage)
    stage.twin_link.route(new.port)
    _follow_again(stage)
    return {"lag": lag, "node": new.name}


# Under sentinels. Whom they watch, they demote and point to the new primary by themselves.

def watched_pair(stage):
    """The primary and the replica as the sentinels see them, once these agree and the replica is in step."""
    def settled():
        try:
            ports = {sentinel.primary_port() for sentinel in stage.sentinels}
            pair = sorted(stage.watched, key=lambda node: node.port not in ports)
            return len(ports) == 1 and pair[0].is_primary() and pair[1].in_step() and pair
        except (redis.RedisError, OSError):
            return None
    return wait_until(settled, 120, "the sentinels to settle")


def _new_primary(stage, old):
    wait_until(lambda: all(sentinel.primary_port() != old.port for sentinel in stage.sentinels), 120, "a failover")


@fault
def sentinel_kill(stage, random):
    """The watched primary dies while its replica does not apply what comes; it comes back, with or without its data."""
    primary, replica = watched_pair(stage)
    behind = replica.offset()
    replica.client().execute_command("CLIENT", "PAUSE", random.randrange(400, 1500), "WRITE")
    try:
        wait_until(lambda: primary.offset() > behind, what="the replica to lag")
        lag = primary.offset() - replica.offset()
    finally:
        primary.kill()
    _new_primary(stage, primary)
    wait_until(replica.is_primary, what="the promotion")
    if random.random() < 0.5:
        primary.forget()
    primary.start()  # for a while it takes itself for a primary
    return {"lag": lag, "node": replica.name}


@fault
def sentinel_stop(stage, random):
    """The watched primary is stopped, replaced, and wakes: until it is demoted there are two."""
    primary, replica = watched_pair(stage)
    primary.process.send(signal.SIGSTOP)
    try:
        _new_primary(stage, primary)
        wait_until(replica.is_primary, what="the promotion")
        observed(primary.process.is_stopped(), "it was not stopped all the time")
    finally:
        primary.process.send(signal.SIGCONT)
    observed(primary.is_primary(), "it was demoted at once")
    return {"node": replica.name}
