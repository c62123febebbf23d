"""Delivers the messages of the outbox, each at least once, those of one resource in their order.

Several relays may run at once: they deliver a message more often, not in another order.
"""
import json
import urllib.error
import urllib.request

# A newer token's transactions begin behind the end of an older one's, so where a message is seen, all
# those of older tokens are seen.
PENDING = """
    SELECT o.id, o.key, o.resource, o.fence_token, o.body
    FROM outbox o LEFT JOIN delivery d ON d.message = o.id
    WHERE d.message IS NULL ORDER BY o.fence_token, o.id LIMIT 1000"""


def deliver_pending(database, send):
    """One round. A resource whose message could not be delivered has to wait for the next round."""
    waiting = set()
    for message, key, resource, token, body in database.execute(PENDING).fetchall():
        if resource in waiting:
            continue
        try:
            answer = send(key, resource, token, body)
        except OSError:  # no answer, or one that says to try again
            waiting.add(resource)
            continue
        database.execute(
            "INSERT INTO delivery (message, answer) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [message, answer],
        )


def post_to(url):
    """Sends by HTTP; gives the status of an answer that is final, raises OSError otherwise."""

    def send(key, resource, token, body):
        request = urllib.request.Request(
            url,
            data=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Idempotency-Key": str(key),
                "Fencing-Resource": resource,
                "Fencing-Token": str(token),
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status
        except urllib.error.HTTPError as error:
            if error.code == 409:  # a newer token was there: nothing to be done any more
                return error.code
            raise

    return send
