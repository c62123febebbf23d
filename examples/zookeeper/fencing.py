"""The fencing token of a lock of kazoo's, and transactions that present it."""
import contextlib

import psycopg
from psycopg.pq import TransactionStatus


class LockLost(Exception):
    pass


def fencing_token(client, lock):
    """The token of a kazoo Lock that was just acquired: the transaction id (zxid) that created its
    node. Holders come in the order of their nodes, and zxids only grow. Raises LockLost where the
    node is gone already, as with its session."""
    node = client.exists(f"{lock.path}/{lock.node}")
    if node is None:
        raise LockLost(lock.path)
    return node.czxid


@contextlib.contextmanager
def fenced_transaction(connection, resource, token):
    """A transaction that presents the token before anything else, which fences all earlier holders:
    claim, then read, then write. `connection` (psycopg) is in autocommit mode, or in no transaction.
    Where an error of a statement was swallowed, InFailedSqlTransaction is raised: PostgreSQL would
    answer the COMMIT by rolling back."""
    with connection.transaction():
        connection.execute("SELECT fence_check(%s, %s)", [resource, token])
        yield connection
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise psycopg.errors.InFailedSqlTransaction("a statement failed before the commit")
