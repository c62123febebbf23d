"""For the checks of the recipes: says what was shown, in lines "ok - ..." and "not ok - ..."."""
import contextlib
import sys

_failed = 0


def check(what, good):
    """Passes where `good` is true."""
    global _failed
    print("ok -" if good else "not ok -", what, flush=True)
    if not good:
        _failed += 1


@contextlib.contextmanager
def refused(what, sqlstate):
    """Passes where the block raises a database error with this SQLSTATE, whatever wraps it."""
    raised = None
    try:
        yield
    except Exception as error:
        raised = error
    if raised is not None:
        print("#", str(raised).strip().replace("\n", "\n# "), flush=True)
    check(f"{what}: {sqlstate}", sqlstate_of(raised) == sqlstate)


def sqlstate_of(error):
    """The SQLSTATE of an error of psycopg, psycopg2, or of a library on top of them."""
    while error is not None:
        sqlstate = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if sqlstate is not None:
            return sqlstate
        error = error.__cause__
    return None


def conclude():
    """Ends the program, as failed where a check has failed."""
    sys.exit(1 if _failed else 0)
