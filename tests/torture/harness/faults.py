"""The registry of faults. A fault does something to the stage and returns what shows that it really happened."""

FAULTS = {}  # kind -> function(stage, random) -> details for the journal


class NotObserved(Exception):
    """The fault was tried, but its effect was not seen: it does not count as having happened."""


def fault(function):
    FAULTS[function.__name__] = function
    return function


def observed(condition, what):
    if not condition:
        raise NotObserved(what)
