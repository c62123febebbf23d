"""Shows the recipe at work: two holders, a relay whose answers get lost, a receiver that acts once."""
import os
import threading
import uuid

import psycopg
from checking import check, conclude, refused

from orders import confirm
from receiver import make_server, open_store
from relay import deliver_pending, post_to

path = os.path.join(os.environ["TMPDIR"], "receiver.sqlite")
store = open_store(path)
server = make_server(path)
threading.Thread(target=server.serve_forever, daemon=True).start()
send = post_to(f"http://127.0.0.1:{server.server_port}/")
database = psycopg.connect(autocommit=True)


def issue(order):
    return database.execute("SELECT fence_issue(%s)", [f"order:{order}"]).fetchone()[0]


def count(statement):
    return database.execute(f"SELECT count(*) FROM {statement}").fetchone()[0]


def mails():
    return [text for (text,) in store.execute("SELECT text FROM mail ORDER BY rowid")]


def tell(order):
    """A message that changes nothing else."""
    with database.transaction():
        token = database.execute("SELECT fence_token(%s)", [f"order:{order}"]).fetchone()[0]
        database.execute("SELECT fence_check(%s, %s)", [f"order:{order}", token])
        database.execute(
            "INSERT INTO outbox (resource, body) VALUES (%s, %s)",
            [f"order:{order}", '{"mail": "order %d is on its way"}' % order],
        )


# In the database: the message is fenced as the data is.
first, second = issue(1001), issue(1001)
confirm(database, 1001, second)
check(
    "the good write is accepted",
    count("orders WHERE id = 1001 AND status = 'confirmed'") == 1
    and count(f"outbox WHERE fence_token = {second}") == 1,
)
with refused("the stale write is refused", "LF001"):
    confirm(database, 1001, first)
with refused("the forgotten token is refused", "LF002"):
    database.execute("INSERT INTO outbox (resource, body) VALUES ('order:1001', '{}')")
check("neither has left a message", count("outbox") == 1)

# Outside: at least once from the relay, at most once in effect.
def send_and_lose_the_answer(*message):
    send(*message)
    raise TimeoutError("the answer was lost")


deliver_pending(database, send_and_lose_the_answer)
check("a message whose answer was lost stays", count("delivery") == 0)
deliver_pending(database, send)
check("it is delivered again", count("delivery") == 1)
check("and has had its effect once", mails() == ["order 1001 is confirmed"])

# The order of one resource is kept, and does not hold up others.
tell(1001)
confirm(database, 1002, issue(1002))


def send_if_not_1001(key, resource, token, body):
    if resource == "order:1001":
        raise ConnectionError("refused")
    return send(key, resource, token, body)


newest = issue(1001)
confirm(database, 1001, newest)
deliver_pending(database, send_if_not_1001)
check("other resources do not wait", mails()[1:] == ["order 1002 is confirmed"])
deliver_pending(database, send)
check(
    "messages of one resource come in their order",
    mails()[2:] == ["order 1001 is on its way", "order 1001 is confirmed"],
)

# The holder that stalled calls the receiver itself, past the outbox.
late = send(uuid.uuid4(), "order:1001", first, {"mail": "order 1001 is cancelled"})
check("a receiver refuses a lower token", late == 409)
key, token = database.execute("SELECT key, fence_token FROM outbox ORDER BY id LIMIT 1").fetchone()
again = send(key, "order:1001", token, {"mail": "order 1001 is confirmed"})
check("a late copy of an old message is known, not refused", again == 200)
check("neither has had an effect", len(mails()) == 4)
deliver_pending(database, send)
check("what is delivered is not delivered again", count("delivery") == count("outbox") == 4)

server.shutdown()
conclude()
