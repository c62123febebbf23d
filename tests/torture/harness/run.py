"""One run: opens the stage, lets the nemesis follow its plan, and leaves everything in a directory for the checker."""

import itertools
import random
import time

import psycopg2
import redis

from . import failover_faults, network_faults, postgres_faults, redis_faults, redlock_faults  # noqa: F401 (they register)
from .faults import FAULTS, NotObserved
from .stage import Stage
from .watch import LONGEST_TTL, Watch
from .worker_faults import Staller

STALLERS = 2  # how many workers may be stopped at once

# Each of these leaves a server's whole history to be judged: in a long run they come less often.
FAILOVERS = {"pg_promote", "pg_split"}
ROUNDS_WITH_FAILOVERS = 8


def plan(seed, kinds):
    """An endless list of faults: every kind once in each round, in an order that follows from the seed."""
    number = 0
    for turn in itertools.count():
        order = random.Random(f"{seed}/round/{turn}")
        left_out = FAILOVERS if turn >= ROUNDS_WITH_FAILOVERS and turn % 4 and len(kinds) > len(FAILOVERS) else set()
        for kind in order.sample(sorted(kinds - left_out), len(kinds - left_out)):
            yield kind, order.uniform(0.05, 0.5), random.Random(f"{seed}/{number}/{kind}")
            number += 1


def run(directory, installation, worker_program, seed, seconds, kinds=None, enforce=True):
    """Leaves histories/, nemesis.jsonl and nodes/ in the directory. `kinds` are the faults, all where there are none; without
    `enforce` nobody compares tokens."""
    stage = Stage(directory, installation, worker_program, seed, fsync=enforce)
    kinds = set(kinds or FAULTS)
    try:
        stage.journal.write("run", seed=seed, seconds=seconds, enforce=enforce)
        stage.open(enforce)
        watch = Watch(stage, seed)
        stallers = [Staller(stage, random.Random(f"{seed}/staller/{n}")) for n in range(STALLERS)]
        for thread in (watch, *stallers):
            thread.start()
        _follow(stage, plan(seed, kinds), seconds, kinds)
        for staller in stallers:
            staller.end()
        _calm_down(stage, watch)
        stage.close()
    except BaseException:
        stage.stop()
        raise


def _follow(stage, faults, seconds, kinds):
    """At least for so long, and until each kind was tried."""
    deadline = time.monotonic() + seconds
    outstanding = set(kinds)
    for kind, pause, chance in faults:
        if time.monotonic() > deadline and not outstanding:
            return
        time.sleep(pause)
        begun = time.monotonic_ns()
        stage.journal.write("attempt", kind=kind)
        try:
            details = FAULTS[kind](stage, chance)
            stage.journal.write("fault", kind=kind, begun=begun, **details)
        except (NotObserved, redis.RedisError, psycopg2.Error) as e:
            stage.journal.write("not_observed", kind=kind, begun=begun, why=f"{type(e).__name__}: {e}")
        outstanding.discard(kind)


def _calm_down(stage, watch):
    """No more faults: the workers recover, end, and their leases as well."""
    stage.settle()
    stage.journal.write("calm")
    time.sleep(3)
    stage.end_workers()
    watch.end()
    watch.resolve("0 seconds")
    time.sleep(LONGEST_TTL / 1000 + 0.5)
    stage.journal.write("left", locks=watch.left())
