"""Programs that a run starts: each is stopped by its own pid, and ends with the run whatever happens."""

import os
import random
import signal
import socket
import subprocess
import time


class Child:
    """A running program. `end` is the signal that ends it quickly, also where the run dies."""

    def __init__(self, argv, log, user=None, end=signal.SIGKILL):
        wrapped = ["setpriv", "--pdeathsig", signal.Signals(end).name[3:]]
        if user and os.geteuid() == 0:
            wrapped += [f"--reuid={user}", f"--regid={user}", "--init-groups"]
        self.end = end
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                wrapped + [str(word) for word in argv],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.pid = self.process.pid

    def running(self):
        return self.process.poll() is None

    def send(self, number):
        if self.running():
            self.process.send_signal(number)

    def wait(self, limit=60):
        """The exit status, -N for signal N. Kills what has not ended by then."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def stop(self, number=None):
        self.send(signal.SIGCONT)
        self.send(number if number is not None else self.end)
        return self.wait()

    def is_stopped(self):
        """Every thread is in the state T."""
        try:
            tasks = os.listdir(f"/proc/{self.pid}/task")
            return all(self._state(task) == "T" for task in tasks)
        except OSError:
            return False

    def _state(self, task):
        with open(f"/proc/{self.pid}/task/{task}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]


def wait_until(condition, limit=60, what="a condition"):
    """Until the condition is true. Limits are generous: a busy machine is no failure."""
    deadline = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit} s for {what}")
        time.sleep(0.02)


def free_port():
    """Below the range of outgoing connections, so that it stays free between two starts of a server."""
    while True:
        port = random.SystemRandom().randrange(12000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def tail(path, size=3000):
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size))
            return file.read().decode(errors="replace")
    except OSError:
        return "(no log)"
