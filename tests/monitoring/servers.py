"""Runs postgres_exporter, Prometheus, and a page for it to scrape, on free ports of 127.0.0.1."""

import contextlib
import http.server
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE = 120  # seconds, for what has to come


def wait_for(what, attempt):
    """What attempt() returns, once that is true and no server has said no."""
    deadline = time.monotonic() + PATIENCE
    while True:
        reason = None
        try:
            seen = attempt()
            if seen:
                return seen
        except urllib.error.HTTPError as error:
            reason = error.read().decode()
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}: {reason}")
        time.sleep(0.1)


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(name, directory, command, ready, environment=None):
    """The address of a server that listens where command(address) says, once the page `ready` is there. On another
    port where somebody was faster."""
    log = os.path.join(directory, name + ".log")
    for _ in range(10):
        address = f"127.0.0.1:{free_port()}"
        with open(log, "w") as to:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command(address)], stdout=to, stderr=to,
                                       stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        try:
            wait_for(f"{name} to listen", lambda: process.poll() is not None or answers(address + ready))
            if process.poll() is None:
                yield address
                return
        finally:
            process.terminate()
            process.wait()
        if "address already in use" not in open(log).read():
            break
    raise AssertionError(f"{name} has not started:\n" + open(log).read()[-3000:])


def answers(page):
    try:
        get(f"http://{page}")
        return True
    except urllib.error.HTTPError:
        raise
    except (urllib.error.URLError, ConnectionError):
        return False


@contextlib.contextmanager
def page(files):
    """The address of a server whose every page is the content of these files, as a textfile collector's."""

    class handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            for file in files:
                self.wfile.write(open(file, "rb").read())

        def log_message(self, *_):
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield "127.0.0.1:%d" % listening.server_address[1]
    finally:
        listening.shutdown()
        listening.server_close()


def samples(text):
    """{name: {labels as a frozenset of pairs: value}} and {name: type} of a page."""
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif line and not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?", line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
            values.setdefault(name, {})[frozenset(pairs)] = float(value)
    return values, types


def with_labels(values, name, **labels):
    """The one value of a metric with these labels, among others; None where there is none."""
    found = [value for has, value in values.get(name, {}).items() if set(labels.items()) <= has]
    assert len(found) < 2, f"{name}{labels} is not one series"
    return found[0] if found else None


class prometheus:
    def __init__(self, address):
        self.api = f"http://{address}/api/v1/"

    def ask(self, what, **parameters):
        try:
            answer = json.loads(get(self.api + what + "?" + urllib.parse.urlencode(parameters)))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{what} {parameters}: {error.read().decode()}") from error
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]
