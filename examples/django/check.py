"""Shows the recipe at work: two holders of one lock, the first of which stalls."""
from unittest import mock

import django
from checking import check, conclude, refused
from redis.lock import Lock

django.setup()

from django.db import transaction

from fencing import fenced, presenting
from shop.models import Order

ID = 1001
RESOURCE = "order:1001"


def write(status):
    order = Order.objects.get(id=ID)
    order.status = status
    order.save()


def has_status(status):
    return Order.objects.get(id=ID).status == status


def stalling_holder():
    """The next holder stalls as soon as it has its token: its lease runs out, and a later holder
    does its work meanwhile."""
    reacquire = Lock.reacquire

    def reacquire_and_stall(lock):
        Lock.reacquire = reacquire
        reacquire(lock)
        lock.redis.pexpire(lock.name, 1)
        with fenced(RESOURCE, blocking_timeout=60):
            write("confirmed")

    return mock.patch.object(Lock, "reacquire", reacquire_and_stall)


with fenced(RESOURCE) as token:
    Order.objects.create(id=ID, status="new")
order = Order.objects.get(id=ID)
check("the guard fills in the token column", order.fence_token == token)

with refused("the stale write is refused", "LF001"):
    with stalling_holder(), fenced(RESOURCE):
        write("cancelled")
check("the good write is accepted", has_status("confirmed"))

with refused("the forgotten token is refused", "LF002"):
    order.save()
with refused("the forgotten token of a delete() is refused", "LF002"):
    order.delete()
order.refresh_from_db()
with refused("a value of the token column that save() repeats is no token", "LF002"):
    order.save()
check("the successor's write stands", has_status("confirmed"))

with fenced(RESOURCE, blocking_timeout=60) as token:
    with transaction.atomic():
        Order.objects.filter(id=ID).update(status="packed")
check("update() inside of a savepoint is accepted", has_status("packed"))

with presenting({RESOURCE: token}):
    Order.objects.select_for_update().get(id=ID)
    write("sent")
check("a token that was handed over is accepted", has_status("sent"))
with refused("a token that was handed over is not kept for later", "LF002"):
    write("returned")

try:
    with transaction.atomic(), fenced(RESOURCE):
        pass
    check("no token is issued inside of a transaction", False)
except transaction.TransactionManagementError:
    check("no token is issued inside of a transaction", True)

with fenced(RESOURCE, blocking_timeout=60):
    Order.objects.get(id=ID).delete()
check("delete() under the lock is accepted", not Order.objects.exists())

conclude()
