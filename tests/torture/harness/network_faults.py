"""What can happen on the way to a server: connections end, slow down, stand still, or lose a reply."""

import time

from .faults import FAULTS
from .processes import wait_until


def _cut(link, random):
    return {"connections": wait_until(link.cut, what="a connection to cut")}


def _slow(link, random):
    before = link.delayed_bytes
    link.delay = random.uniform(0.02, 0.15)
    try:
        time.sleep(random.uniform(0.3, 1.0))
        wait_until(lambda: link.delayed_bytes > before, what="delayed traffic")
    finally:
        link.delay = 0.0
    return {"bytes": link.delayed_bytes - before}


def _stand_still(link, random):
    """What was sent meanwhile arrives afterwards, or never."""
    before = link.held_bytes
    link.hold()
    try:
        time.sleep(random.uniform(0.2, 1.2))
        wait_until(lambda: link.held_bytes > before, what="held traffic")
        cut = random.random() < 0.5
        if cut:
            link.cut()
    finally:
        link.release()
    return {"bytes": link.held_bytes - before, "cut": cut}


def _lose_replies(link, random):
    """The server does what it was asked, and nobody hears of it."""
    before = link.swallowed
    count = random.randrange(1, 6)
    link.swallow_replies = count
    wait_until(lambda: link.swallowed >= before + count, what="replies to lose")
    return {"replies": count}


def _register():
    for server, links in (("redis", ("man_link", "twin_link")), ("pg", ("pg_link", "pg_twin_link"))):
        for name, act in (("cut", _cut), ("slow", _slow), ("still", _stand_still), ("lost_replies", _lose_replies)):
            def happen(stage, random, act=act, links=links):
                link = getattr(stage, random.choice(links))
                return {"link": link.name, **act(link, random)}
            FAULTS[f"{server}_net_{name}"] = happen


_register()
