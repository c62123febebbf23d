"""Shows the recipe at work: two holders of one lease, the first of which stalls."""
from datetime import timedelta

from checking import check, conclude, refused
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from fencing import confirm, lease
from models import Order

RESOURCE = "order:1001"
PATIENCE = timedelta(seconds=60)
engine = create_engine("postgresql+psycopg2://")  # the variables PGHOST ... say where


def write(session, status):
    session.get(Order, 1001).status = status
    session.commit()


def has_status(status):
    with Session(engine) as session:
        return session.get(Order, 1001).status == status


with lease(engine, RESOURCE) as token:
    with lease(engine, RESOURCE) as none:
        check("a lease that is held is not given to another", none is None)

# The first holder sleeps from before its claim until after its lease.
with lease(engine, RESOURCE, ttl=timedelta(milliseconds=1)) as first:
    with lease(engine, RESOURCE, wait=PATIENCE) as second:
        check("a later holder has a higher token", second > first)
        with Session(engine, info={"claims": {RESOURCE: second}}) as session:
            write(session, "confirmed")
            order = session.get(Order, 1001)
            check("the row shows who wrote it", order.fence_token == second)
        check("the good write is accepted", has_status("confirmed"))

        with refused("the stale write is refused", "LF001"):
            with Session(engine, info={"claims": {RESOURCE: first}}) as session:
                write(session, "cancelled")
        with refused("the forgotten token is refused", "LF002"):
            with Session(engine) as session:
                write(session, "cancelled")
        check("the successor's write stands", has_status("confirmed"))

        with Session(engine, info={"claims": {RESOURCE: second}}) as session:
            write(session, "packed")
            write(session, "sent")
        check("each transaction of a session presents its tokens", has_status("sent"))

        with Session(engine, info={"claims": {RESOURCE: second}}) as session:
            with session.begin_nested() as savepoint:
                session.get(Order, 1001).status = "lost"
                session.flush()
                savepoint.rollback()
            write(session, "returned")
        check("a savepoint that is rolled back takes no claim along", has_status("returned"))

serializable = engine.execution_options(isolation_level="SERIALIZABLE")
with lease(engine, RESOURCE) as token:
    claims = {RESOURCE: token}
    confirm(engine, claims)
    with Session(serializable, info={"claims": claims}) as session:
        write(session, "archived")
check("a confirmed token is accepted at SERIALIZABLE", has_status("archived"))

conclude()
