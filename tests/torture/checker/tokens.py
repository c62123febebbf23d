"""Tokens: unique for each resource, over all issuers; and rising with the grants, as far as that is promised."""

from .verdict import Violation

# After these a second Redis may still count in an older block: its tokens are lower than those of the grants before, and
# are refused.
TWINS = ("redis_promote", "redis_split", "sentinel_kill", "sentinel_stop")


def check(run):
    return unique(run) + rising(run)


class Restored:
    """The counters that the nemesis has set back: what no part of Redis can see, and no promise covers. The tokens that were
    counted in between may come again: those of the old block, and where a ticket was pending, those of the block that it was
    exchanged for, since the old ticket brings that block again."""

    def __init__(self, run):
        self.ranges = {}
        for e in run.faults("redis_restore_state"):
            old = e["old"]
            ranges = self.ranges.setdefault(e["resource"], [])
            ranges.append((int(old["last"]), int(old["end"])))
            if "ticket" in old and "last" in e["replaced"]:
                ranges.append((int(old["end"]), int(e["replaced"]["last"])))

    def covers(self, resource, token):
        return any(last < token <= end for last, end in self.ranges.get(resource, []))


def unique(run):
    found = []
    first = {}
    restored = Restored(run)
    for grant in sorted(run.grants(), key=lambda g: g.returned):
        other = first.setdefault((grant.resource, grant.token), grant)
        if other.owner != grant.owner and not restored.covers(grant.resource, grant.token):
            found.append(Violation("token repeated", f"token {grant.token} of {grant.resource} was granted twice: to "
                                   f"{other.owner} by {other.issuer} and to {grant.owner} by {grant.issuer}",
                                   [other.op.name, grant.op.name]))
    return found


def falls(run):
    """Pairs of grants, the second asked for when the first was there already, whose token is lower all the same."""
    by_resource = {}
    for grant in run.grants():
        by_resource.setdefault(grant.resource, []).append(grant)
    for grants in by_resource.values():
        returned = sorted(grants, key=lambda g: g.returned)
        highest = None
        i = 0
        for grant in sorted(grants, key=lambda g: g.op.invoked):
            while i < len(returned) and returned[i].returned < grant.op.invoked:
                if highest is None or returned[i].token > highest.token:
                    highest = returned[i]
                i += 1
            if highest is not None and grant.token < highest.token:
                yield highest, grant


def rising(run):
    found = []
    restored = Restored(run)
    accepted = _accepted(run)
    for higher, lower in falls(run):
        if restored.covers(lower.resource, lower.token):
            continue
        about = [higher.op.name, lower.op.name]
        text = (f"token {lower.token} of {lower.resource} from {lower.issuer} was granted after "
                f"{higher.token} from {higher.issuer}")
        if not _may_fall(run, higher, lower):
            found.append(Violation("token fell", text + ", with nothing that could make it fall", about))
        for tx, node in accepted.get((lower.resource, lower.token), []):
            if _known(run.node(node), higher):
                found.append(Violation("fallen token accepted", f"{text}, and was accepted by {node} in {tx}",
                                       [*about, tx]))
                break
    return found


def _may_fall(run, higher, lower):
    """A Redis counts on in its block while PostgreSQL, or another Redis that took itself for the primary, has issued above; or
    the PostgreSQL that issued the lower one knows nothing of the higher one: it was lost in a failover, or there were two."""
    if any(_generation(lower) in node.generations and not _known(node, higher) for node in run.nodes):
        return True
    if lower.issuer != "redis":
        return False
    return higher.issuer == "database" or any(e["begun"] < lower.returned for e in run.faults(*TWINS))


def _accepted(run):
    """(resource, token) -> transactions that a node let claim it."""
    accepted = {}
    for tx in run.transactions.values():
        if tx.node and tx.claimed():
            for resource, token in tx.tokens.items():
                accepted.setdefault((resource, token), []).append((tx.name, tx.node))
    return accepted


def _known(node, grant):
    """Whether the token was reserved in this node's history: before it parted from its primary's, or here."""
    generation = _generation(grant)
    if node.at_fork and generation <= node.at_fork["generation"]:
        return _issued(node.at_fork, grant.resource) >= grant.token
    return generation in node.generations


def _generation(grant):
    return (grant.token - 1) >> 24  # the tokens of a generation are those above generation * 2^24


def _issued(knowledge, resource):
    return knowledge["issued"].get(resource, knowledge["marks"].get("", 0))
