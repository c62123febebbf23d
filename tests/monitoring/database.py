"""The watched databases: what is done to them, and what they say of themselves."""

import contextlib
import subprocess

# All that the exporter's role may call.
LOOKING = ("fence_stat_counters", "fence_audit", "fence_guard_oid", "fence_guard_argument", "fence_guard_arguments",
           "fence_guard_problem", "fence_validate_guard", "fence_require_one_row", "fence_may_set", "fence_is_guarded",
           "fence_unguarded_children", "fence_is_template_elsewhere", "fence_template_shape",
           "fence_outdated_grants")


def psql(database, statements, *options):
    """(status, output) of psql; each statement is a transaction."""
    done = subprocess.run(["psql", "-XqAt", "-v", "VERBOSITY=verbose", "-d", database, *options], input=statements,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    return done.returncode, done.stdout.strip()


def sql(database, statements, *options):
    status, output = psql(database, statements, "-v", "ON_ERROR_STOP=1", *options)
    assert status == 0, output
    return output


def refused(database, sqlstate, statements, *options):
    status, output = psql(database, statements, "-v", "ON_ERROR_STOP=1", *options)
    assert status != 0 and sqlstate in output, output


@contextlib.contextmanager
def session(database):
    """psql that stays: what is written to it is run."""
    process = subprocess.Popen(["psql", "-Xq", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.STDOUT, encoding="utf-8")

    def run(statements):
        process.stdin.write(statements + "\n")
        process.stdin.flush()

    try:
        yield run
    finally:
        process.terminate()  # what it has begun ends with it, also while it waits
        process.wait()


def make_traffic():
    """Some of everything, in "shop" on top of what a recipe's program has done there, and a little in "other"."""
    sql("shop", "SELECT fence_issue('a'); SELECT fence_check('a', 1, 'one');")
    refused("shop", "LF003", "SELECT fence_check('a', 1, 'two')")
    refused("shop", "LF004", "SELECT fence_check('a', 99)")
    sql("shop", "SELECT fence_check('a', fence_issue('a'));")
    refused("shop", "LF001", "SELECT fence_check('a', 1)")
    refused("shop", "LF002", "INSERT INTO orders VALUES (7, 'new')")
    sql("shop", "SELECT fence_acquire('lease:1', 'me', '1 hour'); SELECT fence_acquire('lease:2', 'me', '1 ms');"
        "CREATE TABLE baskets (id int); SELECT fence_attach('baskets', 'basket:{id}', 'fence_token', 'unfenced=warn');"
        "ALTER ROLE shop IN DATABASE shop SET fencelock.enforce = 'warn';"
        "SELECT fence_issue('old');"
        "UPDATE fence_issuer SET changed_at = now() - interval '40 days' WHERE resource = 'old'")
    sql("other", 'SELECT "Fence it".fence_check(\'plain\', 7); SELECT "Fence it".fence_check(\'plain\', 9)')


def expected_values(database):
    """{(metric, labels as pairs): value}, as a superuser sees them."""
    schema = sql(database, "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = "
                 "e.extnamespace WHERE extname = 'fencelock'")

    def ask(query):
        return [float(value) for value in sql(database, f"SET search_path = {schema}; {query}").split("|")]

    accepted, advanced, waits, stale, unfenced, conflicts, not_issued = ask(
        "SELECT accepted, advanced, waits, stale, unfenced, conflicts, not_issued FROM fence_stat "
        "WHERE datname = current_database()")
    marks, highest_mark = ask("SELECT count(*), max(mark) FROM fence_resource")
    issuers, highest_issued, running, expired = ask(
        "SELECT count(*), coalesce(max(issued), 0), count(*) FILTER (WHERE lease_until > now()), "
        "count(lease_owner) FILTER (WHERE lease_until <= now()) FROM fence_issuer")
    findings, = ask("SELECT count(*) FROM fence_audit()")
    rejecting, warning = ask("SELECT count(*) FILTER (WHERE unfenced = 'reject'), count(*) FILTER (WHERE unfenced = "
                             "'warn') FROM fence_attachment")
    return {
        ("fencelock_accepted_total", ()): accepted,
        ("fencelock_advanced_total", ()): advanced,
        ("fencelock_waits_total", ()): waits,
        ("fencelock_counting", ()): 1,
        ("fencelock_refused_total", (("reason", "stale"),)): stale,
        ("fencelock_refused_total", (("reason", "unfenced"),)): unfenced,
        ("fencelock_refused_total", (("reason", "conflict"),)): conflicts,
        ("fencelock_refused_total", (("reason", "not_issued"),)): not_issued,
        ("fencelock_marks_resources", ()): marks,
        ("fencelock_marks_highest_token", ()): highest_mark,
        ("fencelock_issuer_resources", ()): issuers,
        ("fencelock_issuer_highest_token", ()): highest_issued,
        ("fencelock_issuer_running_leases", ()): running,
        ("fencelock_issuer_expired_leases", ()): expired,
        ("fencelock_audit_findings", ()): findings,
        ("fencelock_guards_tables", (("unfenced", "reject"),)): rejecting,
        ("fencelock_guards_tables", (("unfenced", "warn"),)): warning,
        ("fencelock_history_generation", ()): ask("SELECT coalesce(max(generation), 0) FROM fence_history_state")[0],
        ("fencelock_version_update_pending", ()): 0,
    }


def rights_too_many(database):
    """What the exporter's role may do beyond looking."""
    return sql(database, "SELECT p.proname FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e' "
               "JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fencelock' "
               "WHERE p.proname <> ALL ('{%s}') AND has_function_privilege('fencelock_exporter', p.oid, 'EXECUTE') "
               "UNION ALL SELECT c.relname FROM pg_class c WHERE c.relname LIKE 'fence%%' AND c.relkind IN ('r', 'v') "
               "AND (has_any_column_privilege('fencelock_exporter', c.oid, 'INSERT, UPDATE') OR "
               "has_table_privilege('fencelock_exporter', c.oid, 'DELETE, TRUNCATE, TRIGGER'))"
               % ",".join(LOOKING)).splitlines()
