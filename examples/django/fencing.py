"""Transactions of Django's that hold a lock in Redis and present its fencing token."""
import contextlib
import json

from django.core.cache import cache
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from redis.exceptions import LockError, LockNotOwnedError


@contextlib.contextmanager
def fenced(resource, *, timeout=30, blocking_timeout=0, using=DEFAULT_DB_ALIAS):
    """Takes the lock of a resource, then opens a transaction that has presented its token before
    anything else: read in it, then save(). `timeout` is the lock's TTL, `blocking_timeout` the
    longest wait for it, in seconds.

    Raises LockError where others held the lock for so long, LockNotOwnedError where it was lost
    before the token came; a database error with SQLSTATE LF001 where a later holder was faster.
    """
    if connections[using].in_atomic_block:
        raise transaction.TransactionManagementError(
            "fenced() inside of a transaction: its token would not be committed before it is used "
            "(with ATOMIC_REQUESTS, mark the view as non_atomic_requests)"
        )
    lock = cache.lock("lock:" + resource, timeout=timeout, blocking_timeout=blocking_timeout)
    if not lock.acquire():
        raise LockError(f"{resource} is locked by somebody else")
    try:
        token = _value(using, "SELECT fence_issue(%s)", [resource])
        # Still ours? Else a holder that stalled before it asked for its token would get a higher
        # one than its successor has.
        lock.reacquire()
        with transaction.atomic(using=using):
            _value(using, "SELECT fence_check(%s, %s)", [resource, token])
            yield token
    finally:
        # Whether the lock lasted is no question any more: the database has accepted the token or not.
        with contextlib.suppress(LockNotOwnedError):
            lock.release()


@contextlib.contextmanager
def presenting(claims, *, using=DEFAULT_DB_ALIAS):
    """A transaction whose writes present tokens that somebody else has acquired, as a worker that
    was handed {"order:1001": 34} with its task. The role needs no right to fencelock's functions.
    Fences from the first write on, not from the first read: so select_for_update() what is read.
    """
    with transaction.atomic(using=using, durable=True):
        _value(using, "SELECT set_config('fencelock.claims', %s, true)", [json.dumps(claims)])
        yield


def _value(using, statement, parameters):
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]
