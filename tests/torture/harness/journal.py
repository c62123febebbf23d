"""What the nemesis does, in the form of the workers' histories: JSON lines, monotonic time in ns, flushed."""

import json
import os
import threading
import time


class Journal:
    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._lock = threading.Lock()

    def write(self, event, /, **fields):
        line = json.dumps({"t": time.monotonic_ns(), "e": event, **fields}) + "\n"
        with self._lock:
            os.write(self._file, line.encode())
