"""What the holder of a lock does: it changes the order, and says in the same transaction what else is to
happen."""
from psycopg.types.json import Jsonb


def confirm(database, order, token):
    """Confirms an order and has a mail sent about it: both, or neither."""
    resource = f"order:{order}"
    with database.transaction():
        database.execute("SELECT fence_check(%s, %s)", [resource, token])
        database.execute("UPDATE orders SET status = 'confirmed' WHERE id = %s", [order])
        database.execute(
            "INSERT INTO outbox (resource, body) VALUES (%s, %s)",
            [resource, Jsonb({"mail": f"order {order} is confirmed", "by": token})],
        )
