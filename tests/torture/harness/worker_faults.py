"""What can happen to a worker: it is stopped for a while, or killed."""

import signal
import threading
import time

from .faults import fault, observed
from .processes import wait_until


class Staller(threading.Thread):
    """Stops workers at random moments of the whole run, mostly for about as long as their leases last."""

    def __init__(self, stage, random):
        super().__init__(daemon=True)
        self.stage = stage
        self.random = random
        self.ending = threading.Event()

    def run(self):
        while not self.ending.wait(self.random.uniform(0.02, 0.25)):
            with self.stage.guard:
                worker = self.random.choice(self.stage.workers)
                if worker.process.is_stopped():
                    continue  # by another one of these
                process = worker.process
                begun = time.monotonic_ns()
                process.send(signal.SIGSTOP)
            try:
                wait_until(lambda: process.is_stopped() or not process.running(), what="the worker to stop")
                self.ending.wait(self.random.uniform(0.03, 1.3))
                stopped = process.is_stopped()
            finally:
                process.send(signal.SIGCONT)
            if stopped:
                self.stage.journal.write("fault", kind="worker_stop", begun=begun, worker=worker.name())

    def end(self):
        self.ending.set()
        self.join()


@fault
def worker_kill(stage, random):
    with stage.guard:
        worker = random.choice(stage.workers)
        killed = worker.name()
        status = worker.kill()
        worker.start()
    observed(status == -signal.SIGKILL, f"it ended with {status}")
    return {"worker": killed}
