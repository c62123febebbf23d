"""A lock of redis-py that comes with a fencing token, and transactions that present it."""
import contextlib

import psycopg
from psycopg.pq import TransactionStatus
from redis.exceptions import RedisError
from redis.lock import Lock


class FencedLock(Lock):
    """A lock of redis-py whose holder has a fencing token, issued by the database.

    `issuer` is a psycopg connection in autocommit mode: a token may be used once it is committed.
    `timeout`, the lock's TTL in seconds, is required: a lock without one is never lost, but never
    freed after a crash either.
    """

    def __init__(self, client, resource, issuer, *, timeout, **options):
        if not timeout or timeout < 0.001:
            raise ValueError("a fenced lock needs a timeout of at least a millisecond")
        if not issuer.autocommit:
            raise ValueError("tokens are issued through a connection in autocommit mode")
        super().__init__(client, "lock:" + resource, timeout=timeout, **options)
        self.resource = resource
        self.issuer = issuer
        self.local.fencing_token = None

    @property
    def fencing_token(self):
        """The token of the lock that this thread holds, else None. (redis-py's own `token` is the
        owner's random id.)"""
        return getattr(self.local, "fencing_token", None)

    def acquire(self, *args, **kwargs):
        """As Lock.acquire. Raises LockNotOwnedError where the lock was lost while the database
        issued the token: nothing is held then."""
        self.local.fencing_token = None
        if not super().acquire(*args, **kwargs):
            return False
        try:
            token = self._issue()
            # Still ours? Else a holder that stalled before it asked for its token would get a
            # higher one than its successor has.
            self.reacquire()
        except BaseException:
            with contextlib.suppress(RedisError):
                self.release()
            raise
        self.local.fencing_token = token
        return True

    def release(self):
        self.local.fencing_token = None
        super().release()

    def _issue(self):
        return self.issuer.execute("SELECT fence_issue(%s)", [self.resource]).fetchone()[0]


@contextlib.contextmanager
def fenced_transaction(connection, lock):
    """A transaction that presents the lock's token before anything else, which fences all earlier
    holders: claim, then read, then write. `connection` is in autocommit mode, or in no transaction.
    Where an error of a statement was swallowed, InFailedSqlTransaction is raised: PostgreSQL would
    answer the COMMIT by rolling back."""
    with connection.transaction():
        connection.execute("SELECT fence_check(%s, %s)", [lock.resource, lock.fencing_token])
        yield connection
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise psycopg.errors.InFailedSqlTransaction("a statement failed before the commit")
