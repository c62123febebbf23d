"""A service that does what it is told once, and not for a holder whose time is over.

It keeps two things beside its own data: the keys that it has seen, and the highest token of each
resource. (Where its data lies in a PostgreSQL of its own, fence_check(resource, token) is the second.)
"""
import json
import sqlite3
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

SCHEMA = """
    CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS highest (resource TEXT PRIMARY KEY, token INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS mail (text TEXT NOT NULL);"""

RAISE = """
    INSERT INTO highest VALUES (?, ?) ON CONFLICT (resource)
    DO UPDATE SET token = excluded.token WHERE excluded.token >= highest.token"""


def receive(store, key, resource, token, body):
    """The status to answer with. Key, token and effect are written in one transaction."""
    store.execute("BEGIN IMMEDIATE")
    with store:  # commits, or rolls back where this raises
        if store.execute("SELECT 1 FROM seen WHERE key = ?", [key]).fetchone():
            return 200  # done before
        if store.execute(RAISE, [resource, token]).rowcount == 0:
            return 409  # stale
        store.execute("INSERT INTO seen VALUES (?)", [key])
        store.execute("INSERT INTO mail VALUES (?)", [body["mail"]])
        return 201


def open_store(path):
    store = sqlite3.connect(path, isolation_level=None, timeout=60)
    store.executescript(SCHEMA)
    return store


def make_server(path):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with closing(open_store(path)) as store:
                status = receive(
                    store,
                    self.headers["Idempotency-Key"],
                    self.headers["Fencing-Resource"],
                    int(self.headers["Fencing-Token"]),
                    body,
                )
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    return HTTPServer(("127.0.0.1", 0), Handler)
