"""The worker processes: started with a seed, stopped, woken, killed, replaced."""

import os
import signal

from .processes import Child


class Worker:
    def __init__(self, program, directory, index, seed, routes, database, journal, threads=3, resources=2):
        self.program = program
        self.directory = directory
        self.index = index
        self.seed = seed
        self.routes = routes      # option -> value: how to reach the groups' servers
        self.database = database  # conninfo
        self.journal = journal
        self.threads = threads
        self.resources = resources
        self.lives = 0
        self.process = None

    def name(self):
        return f"w{self.index}-{self.lives}"

    def start(self):
        self.lives += 1
        name = self.name()
        arguments = [self.program, f"name={name}", f"seed={self.seed * 100 + self.lives}", f"threads={self.threads}",
                     f"history={os.path.join(self.directory, name)}.jsonl", f"database={self.database}",
                     f"resources={self.resources}", "two_phase=yes"]
        arguments += [f"{option}={value}" for option, value in self.routes.items()]
        self.process = Child(arguments, os.path.join(self.directory, "workers.log"))
        self.journal.write("worker_started", worker=name)

    def kill(self):
        status = self.process.stop(signal.SIGKILL)
        self.journal.write("worker_ended", worker=self.name(), status=status, killed=True)
        return status

    def end(self):
        """Lets it come to the end of its operations."""
        status = self.process.stop(signal.SIGTERM)
        self.journal.write("worker_ended", worker=self.name(), status=status, killed=False)
        return status
