"""What can happen to the independent servers of a Redlock: one of them restarts or stops, or too few are left."""

import signal
import time

from .faults import fault, observed
from .processes import wait_until


@fault
def redlock_restart(stage, random):
    """One of them forgets what it has granted."""
    node = random.choice(stage.independent)
    run = node.info("server")["run_id"]
    node.kill()
    node.forget()
    node.start()
    observed(node.info("server")["run_id"] != run, "it did not start anew")
    return {"node": node.name}


@fault
def redlock_stop(stage, random):
    node = random.choice(stage.independent)
    node.process.send(signal.SIGSTOP)
    try:
        wait_until(node.process.is_stopped, what="the server to stop")
        time.sleep(random.uniform(0.2, 1.2))
        observed(node.process.is_stopped(), "it was not stopped all the time")
    finally:
        node.process.send(signal.SIGCONT)
    return {"node": node.name}


@fault
def redlock_away(stage, random):
    """Most of them are down until leases come from PostgreSQL, then up until some server grants again."""
    nodes = random.sample(stage.independent, 2)
    for node in nodes:
        node.kill()
    try:
        leases = stage.leases_instead("red")
        for node in nodes:
            node.forget()
    finally:
        for node in nodes:
            node.start()
    wait_until(lambda: all(list(node.client().scan_iter(match="fencelock:v1:*:lock")) for node in nodes),
               what="locks on the servers again")
    return {"leases": leases}
