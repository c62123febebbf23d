"""Shows the recipe at work: two holders of one lock, the first of which stalls."""
import contextlib
import os

import psycopg
import redis
from checking import check, conclude, refused
from redis.exceptions import LockNotOwnedError

from fencing import FencedLock, fenced_transaction

client = redis.Redis.from_url(os.environ["REDIS_URL"])
issuer = psycopg.connect(autocommit=True)
database = psycopg.connect(autocommit=True)


def lock_of_order():
    return FencedLock(client, "order:1001", issuer, timeout=60, blocking_timeout=60)


def set_status(status):
    database.execute("UPDATE orders SET status = %s WHERE id = 1001", [status])


def status():
    return database.execute("SELECT status FROM orders WHERE id = 1001").fetchone()[0]


# The first holder sleeps until after its lease has run out (which is made to happen at once).
first = lock_of_order()
first.acquire()
client.pexpire(first.name, 1)
second = lock_of_order()
with second:
    check("a later holder has a higher token", second.fencing_token > first.fencing_token)
    with fenced_transaction(database, second):
        set_status("confirmed")
    check("the good write is accepted", status() == "confirmed")

    with refused("the stale write is refused", "LF001"):
        with fenced_transaction(database, first):
            set_status("cancelled")
    with refused("the forgotten token is refused", "LF002"):
        set_status("cancelled")
    check("the successor's write stands", status() == "confirmed")

    with refused("a refusal that was swallowed is not lost", "25P02"):
        with fenced_transaction(database, second):
            set_status("packed")
            with contextlib.suppress(psycopg.Error):
                database.execute("UPDATE orders SET status = 'packed' WHERE id = 1002")
    check("and nothing is written then", status() == "confirmed")

    try:
        first.release()
        check("a lost lock is not released", False)
    except LockNotOwnedError:
        check("a lost lock is not released", second.owned())
check("a released lock has no token", second.fencing_token is None and not second.locked())


class StallsBeforeItsToken(FencedLock):
    """Its lock is lost after Redis has granted it, before the database issues the token."""

    def _issue(self):
        client.delete(self.name)
        return super()._issue()


late = StallsBeforeItsToken(client, "order:1001", issuer, timeout=60)
try:
    late.acquire()
    check("a holder that stalled before it got its token holds nothing", False)
except LockNotOwnedError:
    check("a holder that stalled before it got its token holds nothing", late.fencing_token is None)

conclude()
