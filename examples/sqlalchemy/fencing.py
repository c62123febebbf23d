"""Sessions of SQLAlchemy's that present fencing tokens, and leases that PostgreSQL keeps."""
import contextlib
import time
import uuid
from datetime import timedelta

from sqlalchemy import event, text
from sqlalchemy.orm import Session


@event.listens_for(Session, "after_begin")
def _present_claims(session, transaction, connection):
    """Each transaction presents the tokens of session.info["claims"] before its first statement."""
    _present(connection, session.info.get("claims", {}))


def confirm(engine, claims):
    """Presents tokens in a transaction of its own. Needed before a session at REPEATABLE READ or
    SERIALIZABLE presents them: its snapshot must not be older than the claim."""
    with engine.begin() as connection:
        _present(connection, claims)


@contextlib.contextmanager
def lease(engine, resource, *, ttl=timedelta(seconds=30), wait=timedelta(0)):
    """Takes a lease that PostgreSQL keeps, and ends it afterwards. Gives its token, or None where
    others held the lease until `wait` was over. Nothing renews it meanwhile."""
    owner = uuid.uuid4().hex
    deadline = time.monotonic() + wait.total_seconds()
    while (token := _call(engine, "fence_acquire", resource, owner, ttl)) is None:
        if time.monotonic() >= deadline:
            break
        time.sleep(0.1)
    try:
        yield token
    finally:
        if token is not None:
            _call(engine, "fence_release", resource, owner, token)


def _present(connection, claims):
    for resource, token in sorted(claims.items()):
        connection.execute(
            text("SELECT fence_check(:resource, :token)"), {"resource": resource, "token": token}
        )


def _call(engine, function, resource, owner, last):
    # By itself in autocommit mode: a token may be used once it is committed.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        return connection.scalar(
            text(f"SELECT {function}(:resource, :owner, :last)"),
            {"resource": resource, "owner": owner, "last": last},
        )
