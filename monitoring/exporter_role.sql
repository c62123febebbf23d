-- The role that postgres_exporter connects as, with what postgres_exporter.yaml needs and no more: it sees neither the
-- names of resources nor owners nor tickets, and can neither present nor issue a token. As a superuser, in each database
-- that has the extension:
--
--     psql -d shop -f exporter_role.sql
--
-- May be run again. How the role logs in (a password, pg_hba.conf) is yours to say.
\set ON_ERROR_STOP on

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'fencelock') THEN
        RAISE EXCEPTION 'database % has no extension fencelock', quote_ident(current_database())
            USING HINT = 'CREATE EXTENSION fencelock there first. Nothing was changed.';
    END IF;
END
$$;

SELECT quote_ident(n.nspname) AS fencelock_schema
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'fencelock' \gset
SET search_path = :fencelock_schema;

BEGIN;
SELECT 'CREATE ROLE fencelock_exporter LOGIN CONNECTION LIMIT 5'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fencelock_exporter') \gexec

-- The audit reads which modules are preloaded; the age of others' transactions.
GRANT pg_read_all_settings, pg_read_all_stats TO fencelock_exporter;

GRANT USAGE ON SCHEMA :fencelock_schema TO fencelock_exporter;
ALTER ROLE fencelock_exporter IN DATABASE :"DBNAME" SET search_path = :fencelock_schema;

GRANT SELECT ON fence_stat, fence_attachment TO fencelock_exporter;
GRANT SELECT (mark) ON fence_resource TO fencelock_exporter;
GRANT SELECT (issued, lease_until, changed_at) ON fence_issuer TO fencelock_exporter;
GRANT SELECT (generation) ON fence_history_state TO fencelock_exporter;
GRANT EXECUTE ON FUNCTION fence_stat_counters(), fence_audit(), fence_guard_oid(),
    fence_guard_argument(text[], text, text), fence_guard_arguments(bytea), fence_guard_problem(regclass, text[]),
    fence_validate_guard(oid, text[]), fence_require_one_row(regclass, smallint[]), fence_may_set(oid, text),
    fence_is_guarded(oid), fence_unguarded_children(regclass), fence_is_template_elsewhere(regclass, text, boolean),
    fence_template_shape(text),
    fence_outdated_grants()
    TO fencelock_exporter;
COMMIT;
