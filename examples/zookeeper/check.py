"""Shows the recipe at work: two holders of one lock, the first of which stalls."""
import os

import psycopg
from checking import check, conclude, refused
from kazoo.client import KazooClient

from fencing import LockLost, fenced_transaction, fencing_token

RESOURCE = "order:1001"
PATH = "/locks/order:1001"
database = psycopg.connect(autocommit=True)


def connect(**options):
    client = KazooClient(hosts=os.environ["ZOOKEEPER"], timeout=60, **options)
    client.start(timeout=120)
    return client


def write(status):
    database.execute("UPDATE orders SET status = %s WHERE id = 1001", [status])


def has_status(status):
    found = database.execute("SELECT status FROM orders WHERE id = 1001")
    return found.fetchone()[0] == status


def expire(client):
    """Ends a client's session at the server, as the server does by itself when nothing is heard of
    the client for as long as the session's timeout."""
    usurper = connect(client_id=client.client_id)
    usurper.stop()
    usurper.close()


first_client = connect()
first_lock = first_client.Lock(PATH, "first")
first_lock.acquire(timeout=60)
first = fencing_token(first_client, first_lock)
expire(first_client)

second_client = connect()
second_lock = second_client.Lock(PATH, "second")
with second_lock:
    second = fencing_token(second_client, second_lock)
    check("a later holder has a higher token", second > first)
    with fenced_transaction(database, RESOURCE, second):
        write("confirmed")
    check("the good write is accepted", has_status("confirmed"))

    # The first holder's own lock object still believes.
    check("a lock that was lost does not know", first_lock.is_acquired)
    with refused("the stale write is refused", "LF001"):
        with fenced_transaction(database, RESOURCE, first):
            write("cancelled")
    with refused("the forgotten token is refused", "LF002"):
        write("cancelled")
    check("the successor's write stands", has_status("confirmed"))

    try:
        fencing_token(second_client, first_lock)
        check("a lock whose node is gone has no token", False)
    except LockLost:
        check("a lock whose node is gone has no token", True)

second_client.stop()
first_client.stop()
conclude()
