\echo Use "ALTER EXTENSION fencelock UPDATE TO '0.2.0'" to load this file. \quit

-- Running it. All for whoever runs the database; nothing here is for applications.

CREATE FUNCTION fence_prune(older_than interval) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_prune(interval) IS
    'deletes the rows of resources issued here that were idle that long, keeping one floor for all of them; returns how many';

CREATE FUNCTION fence_reset(resource text, mark bigint) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_reset(text, bigint) IS
    'superuser: sets the mark of a resource, down if need be, and logs it: for a mark that was poisoned';

CREATE FUNCTION fence_new_generation() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_new_generation() IS
    'superuser: starts a new generation of tokens; needed after a restore that the database cannot see itself, such as a file-system snapshot';

-- What became of a COMMIT that was not answered.

CREATE FUNCTION fence_receipt() RETURNS text
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_receipt() IS
    'names the current transaction for fence_outcome: fetch it before COMMIT';

CREATE FUNCTION fence_outcome(receipt text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_outcome(text) IS
    'what became of the transaction with this receipt: committed, aborted, in progress; NULL where it can''t be known: the server has crashed, restarted or been replaced since, or the transaction is too old';

COMMENT ON TABLE fence_resource IS
    'the mark of each resource: the highest fencing token that was accepted; the row without a name is the floor that fence_prune leaves';

-- PostgreSQL hands row triggers down to partitions that are created or attached later, but not those for TRUNCATE: this
-- does. A restore creates each trigger itself, and changes its state by ALTER TABLE; so there only guards in their usual
-- state are looked at.
CREATE FUNCTION fence_guard_partitions() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT DISTINCT t.tgrelid::regclass FROM pg_event_trigger_ddl_commands() c
        CROSS JOIN LATERAL pg_partition_tree(c.objid) p
        JOIN pg_trigger t ON t.tgrelid = p.relid
        WHERE c.classid = 'pg_class'::regclass AND c.object_type IN ('table', 'foreign table') AND t.tgparentid <> 0
          AND t.tgfoid = @extschema@.fence_guard_oid() AND (t.tgenabled = 'O' OR c.command_tag LIKE 'CREATE %')
          AND NOT EXISTS (SELECT FROM pg_trigger s WHERE s.tgrelid = t.tgrelid AND s.tgfoid = t.tgfoid AND s.tgtype = 34)
    LOOP
        EXECUTE format('CREATE TRIGGER zz_fence_guard_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()',
                       part, @extschema@.fence_guard_oid()::regproc);
    END LOOP;
END
$$;
COMMENT ON FUNCTION fence_guard_partitions() IS 'event trigger: refuses TRUNCATE of partitions that come after fence_attach, too';
CREATE EVENT TRIGGER fence_guard_partitions ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'ALTER TABLE')
    EXECUTE FUNCTION fence_guard_partitions();

CREATE FUNCTION fence_tell_unguarded() RETURNS event_trigger LANGUAGE c AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_tell_unguarded() IS 'event trigger: warns where a partition is detached from a guarded table, or another table inherits from one';
CREATE EVENT TRIGGER fence_tell_unguarded ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA', 'ALTER TABLE', 'ALTER FOREIGN TABLE')
    EXECUTE FUNCTION fence_tell_unguarded();

-- Rights of whoever guards tables of its own.

CREATE FUNCTION fence_grant_guards(role regrole) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM @extschema@.fence_grant_functions(role, ARRAY['fence_attach', 'fence_detach', 'fence_guard', 'fence_guard_oid',
        'fence_guard_name', 'fence_guard_argument', 'fence_guard_arguments', 'fence_is_guarded', 'fence_unguarded_children',
        'fence_validate_guard', 'fence_template_shape', 'fence_is_template_elsewhere', 'fence_require_guardable', 'fence_require_one_row', 'fence_carry_marks', 'fence_end_guards', 'fence_resource_name', 'fence_own_mark', 'fence_raise_mark', 'fence_rows_of', 'fence_raise_marks', 'fence_raise_rows',
        'fence_token']);
END
$$;
COMMENT ON FUNCTION fence_grant_guards(regrole) IS
    'lets a role guard the tables that it owns; such a role can move every mark, so it is trusted';

-- Counters.

CREATE FUNCTION fence_stat_counters(
    OUT datid oid, OUT accepted bigint, OUT advanced bigint, OUT stale bigint, OUT unfenced bigint,
    OUT conflicts bigint, OUT not_issued bigint, OUT waits bigint, OUT stats_reset timestamptz)
    RETURNS SETOF record LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_stat_counters() IS 'the counters behind fence_stat, a row for each database that has any';

CREATE VIEW fence_stat AS
    SELECT d.datname, coalesce(c.accepted, 0) AS accepted, coalesce(c.advanced, 0) AS advanced,
           coalesce(c.stale, 0) AS stale, coalesce(c.unfenced, 0) AS unfenced,
           coalesce(c.conflicts, 0) AS conflicts, coalesce(c.not_issued, 0) AS not_issued,
           coalesce(c.waits, 0) AS waits, c.stats_reset
    FROM pg_catalog.pg_database d LEFT JOIN fence_stat_counters() c ON c.datid = d.oid
    WHERE c.datid IS NOT NULL OR d.datname = pg_catalog.current_database();
COMMENT ON VIEW fence_stat IS
    'how many tokens were accepted and refused since the server started; survives rollbacks, needs shared_preload_libraries before PostgreSQL 17';
COMMENT ON COLUMN fence_stat.accepted IS 'tokens that became claims';
COMMENT ON COLUMN fence_stat.advanced IS 'of these, those that raised a mark';
COMMENT ON COLUMN fence_stat.stale IS 'refused with LF001, or by fence_try';
COMMENT ON COLUMN fence_stat.unfenced IS 'writes without a token: LF002, warnings included';
COMMENT ON COLUMN fence_stat.conflicts IS 'refused with LF003';
COMMENT ON COLUMN fence_stat.not_issued IS 'refused with LF004';
COMMENT ON COLUMN fence_stat.waits IS 'checks that had to wait for a transaction with an older token';

-- What is protected, and how.

CREATE VIEW fence_attachment AS
    SELECT t.tgrelid::pg_catalog.regclass AS target,
           fence_guard_argument(a.arguments, 'resource', NULL) AS resource,
           fence_guard_argument(a.arguments, 'token', NULL) AS token,
           fence_guard_argument(a.arguments, 'mark', 'resource') AS mark,
           fence_guard_argument(a.arguments, 'ties', 'accept') AS ties,
           fence_guard_argument(a.arguments, 'require', 'any') AS require,
           fence_guard_argument(a.arguments, 'unfenced', 'reject') AS unfenced
    FROM pg_catalog.pg_trigger t
    CROSS JOIN LATERAL (SELECT fence_guard_arguments(t.tgargs) AS arguments) a
    WHERE t.tgfoid = fence_guard_oid() AND t.tgtype & 1 = 1;
COMMENT ON VIEW fence_attachment IS 'the guarded tables, partitions included, and the arguments of their guards';

-- What undermines it.

CREATE FUNCTION fence_audit() RETURNS TABLE (target text, finding text, remedy text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    guard oid := @extschema@.fence_guard_oid();
BEGIN
    RETURN QUERY -- guards that do not fire
    SELECT t.tgrelid::regclass::text, format('trigger %I is disabled', t.tgname),
           format('ALTER TABLE %s ENABLE TRIGGER %I', t.tgrelid::regclass, t.tgname)
    FROM pg_trigger t WHERE t.tgfoid = guard AND t.tgenabled IN ('D', 'R');

    RETURN QUERY -- own triggers that fire less often than CREATE EXTENSION had it, as pg_restore --disable-triggers leaves them
    SELECT t.tgrelid::regclass::text, format('trigger %I does not fire as often as it has to', t.tgname),
           format('ALTER TABLE %s ENABLE %sTRIGGER %I', t.tgrelid::regclass, CASE WHEN renews THEN 'ALWAYS ' END, t.tgname)
               || CASE WHEN renews THEN '; SELECT fence_new_generation() where rows have come in meanwhile' ELSE '' END
    FROM pg_trigger t CROSS JOIN LATERAL (SELECT t.tgfoid = '@extschema@.fence_renew_stamp()'::regprocedure) s (renews)
    WHERE renews AND t.tgenabled <> 'A'
       OR t.tgfoid = '@extschema@.fence_refuse_write()'::regprocedure AND t.tgenabled IN ('D', 'R');

    RETURN QUERY -- TRUNCATE passes by
    SELECT DISTINCT t.tgrelid::regclass::text, 'TRUNCATE is not refused', 'call fence_attach again'
    FROM pg_trigger t WHERE t.tgfoid = guard AND t.tgtype & 1 = 1
      AND NOT EXISTS (SELECT FROM pg_trigger s WHERE s.tgrelid = t.tgrelid AND s.tgfoid = guard AND s.tgtype = 34);

    RETURN QUERY -- rows of children are written without the guard
    SELECT DISTINCT child::text, format('inherits from guarded table %s and has no guard', t.tgrelid::regclass),
           'call fence_attach for it as well'
    FROM pg_trigger t CROSS JOIN LATERAL @extschema@.fence_unguarded_children(t.tgrelid) c (child)
    WHERE t.tgfoid = guard AND t.tgtype & 1 = 1;

    RETURN QUERY -- what is left of a guard, as on a partition that was detached
    SELECT t.tgrelid::regclass::text, 'TRUNCATE is refused, but other writes are not guarded',
           'call fence_attach where it is written to, else fence_detach'
    FROM pg_trigger t WHERE t.tgfoid = guard AND t.tgtype = 34 AND NOT @extschema@.fence_is_guarded(t.tgrelid);

    RETURN QUERY -- writes that a guard's trigger does not fire for
    SELECT t.tgrelid::regclass::text, format('trigger %I does not fire for INSERT, UPDATE and DELETE of every row', t.tgname),
           'call fence_attach again'
    FROM pg_trigger t WHERE t.tgfoid = guard AND t.tgtype & 1 = 1
      AND (t.tgtype <> 31 OR t.tgqual IS NOT NULL OR array_length(t.tgattr::int2[], 1) > 0);

    RETURN QUERY -- what runs later may change token and resource
    SELECT t.tgrelid::regclass::text, format('BEFORE trigger %I runs after the guard', o.tgname),
           'call fence_attach again, or rename that trigger'
    FROM pg_trigger t JOIN pg_trigger o ON o.tgrelid = t.tgrelid
    WHERE t.tgfoid = guard AND t.tgtype & 1 = 1 AND o.tgfoid <> guard AND o.tgtype & 3 = 3 AND o.tgenabled <> 'D'
      AND o.tgname::text COLLATE "C" > t.tgname::text COLLATE "C";

    RETURN QUERY -- warn only
    SELECT a.target::text, 'writes without a token are only warned of (unfenced=warn)', 'attach again with unfenced=reject'
    FROM @extschema@.fence_attachment a WHERE a.unfenced = 'warn';

    RETURN QUERY -- two guards of which neither knows what the other has seen
    SELECT a.target::text, format('resource template %L guards another table as well, which mark=row does not allow', a.resource),
           'give each table a template of its own, or use mark=resource for all of them'
    FROM @extschema@.fence_attachment a
    JOIN pg_trigger t ON t.tgrelid = a.target AND t.tgfoid = guard AND t.tgtype & 1 = 1 AND t.tgparentid = 0
    WHERE @extschema@.fence_is_template_elsewhere(a.target, a.resource, a.mark = 'row');

    RETURN QUERY -- arguments that fail at the first firing, or that the table does not live up to any more
    SELECT a.target::text, p.problem, 'call fence_attach again, which tells what to do'
    FROM @extschema@.fence_attachment a
    JOIN pg_trigger t ON t.tgrelid = a.target AND t.tgfoid = guard AND t.tgtype & 1 = 1
    CROSS JOIN LATERAL @extschema@.fence_guard_problem(a.target, @extschema@.fence_guard_arguments(t.tgargs)) p (problem)
    WHERE p.problem IS NOT NULL;

    RETURN QUERY -- who may pass by triggers
    SELECT NULL::text, format('role %I may set session_replication_role, which switches triggers off', r.rolname),
           'take the right away, or ALTER TABLE ... ENABLE ALWAYS TRIGGER'
    FROM pg_roles r WHERE NOT r.rolsuper
      AND CASE WHEN current_setting('server_version_num')::int >= 150000
               THEN @extschema@.fence_may_set(r.oid, 'session_replication_role') ELSE false END
      AND EXISTS (SELECT FROM pg_trigger t WHERE t.tgfoid = guard AND t.tgenabled <> 'A');

    RETURN QUERY -- who may write marks
    SELECT c.oid::regclass::text, format('role %s may write it directly', CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END),
           'REVOKE that right: marks are written by fencelock alone'
    FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fencelock'
    CROSS JOIN LATERAL aclexplode(c.relacl) x
    WHERE c.relkind = 'r' AND x.grantee <> c.relowner AND x.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER');

    RETURN QUERY -- whom an update of the extension has left behind
    SELECT NULL::text, format('role %I may issue tokens, but not ask what became of a commit', o.role), format('call fence_grant(%L)', o.role)
    FROM @extschema@.fence_outdated_grants() o;

    RETURN QUERY -- wear
    SELECT c.oid::regclass::text, format('its oldest multixact is %s old', mxid_age(c.relminmxid)), 'VACUUM it'
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'fence_resource' AND c.relnamespace = (SELECT pronamespace FROM pg_proc WHERE oid = guard)
      AND mxid_age(c.relminmxid) > 100000000;

    RETURN QUERY -- who may relax enforcement
    SELECT NULL::text, format('role %I may set fencelock.enforce', r.rolname), 'REVOKE SET ON PARAMETER fencelock.enforce'
    FROM pg_roles r WHERE NOT r.rolsuper
      AND CASE WHEN current_setting('server_version_num')::int >= 150000
               THEN @extschema@.fence_may_set(r.oid, 'fencelock.enforce') ELSE false END;

    RETURN QUERY -- where it is relaxed
    SELECT NULL::text, format('%s is set for %s', c.setting, concat_ws(' in ',
               CASE WHEN s.setrole <> 0 THEN 'role ' || s.setrole::regrole END,
               CASE WHEN s.setdatabase <> 0 THEN 'database ' || d.datname END)),
           'ALTER ROLE or ALTER DATABASE ... RESET fencelock.enforce'
    FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = s.setdatabase
    CROSS JOIN LATERAL unnest(s.setconfig) c (setting)
    WHERE c.setting ILIKE 'fencelock.enforce=%' AND lower(c.setting) <> 'fencelock.enforce=on'
      AND (s.setdatabase = 0 OR d.datname = current_database());

    RETURN QUERY -- a function of a superuser's may relax it for whoever calls it
    SELECT NULL::text, format('%s is set for %s', setting, p.oid::regprocedure), format('ALTER ROUTINE %s RESET %s', p.oid::regprocedure, split_part(setting, '=', 1))
    FROM pg_proc p CROSS JOIN LATERAL unnest(p.proconfig) c (setting)
    WHERE setting ILIKE 'fencelock.enforce=%' AND lower(setting) <> 'fencelock.enforce=on'
       OR lower(setting) = 'session_replication_role=replica';

    RETURN QUERY
    SELECT NULL::text, format('fencelock.enforce is %s in this session', current_setting('fencelock.enforce', true)), 'RESET fencelock.enforce'
    WHERE current_setting('fencelock.enforce', true) <> 'on';

    RETURN QUERY
    SELECT NULL::text, 'fencelock is not preloaded: a session''s first statement may be a MERGE that it cannot recognise, and fence_stat may count nothing',
           'add fencelock to shared_preload_libraries'
    WHERE NOT 'fencelock' = ANY (string_to_array(replace(current_setting('shared_preload_libraries') || ','
              || current_setting('session_preload_libraries'), ' ', ''), ','));
END
$$;
COMMENT ON FUNCTION fence_audit() IS 'what undermines the guards, a finding a row, with what to do about it';

-- What fence_attach would say of a guard that stands already, NULL where nothing.
CREATE FUNCTION fence_guard_problem(target regclass, arguments text[]) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    template_columns smallint[];
BEGIN
    template_columns := @extschema@.fence_validate_guard(target, arguments);
    IF 'mark=row' = ANY (arguments) THEN
        PERFORM @extschema@.fence_require_one_row(target, template_columns);
    END IF;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END
$$;
COMMENT ON FUNCTION fence_guard_problem(regclass, text[]) IS 'what is wrong with a guard''s arguments by now; NULL: nothing';

-- fence_grant gives what the present version has; who was granted under an earlier one lacks what came later.
CREATE FUNCTION fence_outdated_grants() RETURNS TABLE (role name) LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.rolname FROM pg_roles r
    WHERE EXISTS (SELECT FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) x
                  WHERE p.oid = '@extschema@.fence_issue(text, bigint, bigint, text)'::regprocedure AND x.grantee = r.oid AND x.grantee <> p.proowner)
      AND NOT (has_function_privilege(r.oid, '@extschema@.fence_receipt()', 'EXECUTE')
               AND has_function_privilege(r.oid, '@extschema@.fence_outcome(text)', 'EXECUTE'));
$$;
COMMENT ON FUNCTION fence_outdated_grants() IS 'the roles for which fence_grant has to be called once more after an update';

-- Apart, so that it is only parsed where has_parameter_privilege exists (15 and newer).
CREATE FUNCTION fence_may_set(role oid, parameter text) RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN has_parameter_privilege(role, parameter, 'SET');
END
$$;
COMMENT ON FUNCTION fence_may_set(oid, text) IS 'whether a role may set a parameter that is for superusers';

REVOKE ALL ON FUNCTION fence_prune(interval), fence_reset(text, bigint), fence_new_generation(), fence_stat_counters(),
    fence_guard_problem(regclass, text[]), fence_audit(), fence_may_set(oid, text), fence_guard_partitions(),
    fence_tell_unguarded(), fence_grant_guards(regrole), fence_outdated_grants(),
    fence_receipt(), fence_outcome(text) FROM PUBLIC;

-- Whoever had all that fence_grant gave before should have what it gives now. Given here it would belong to the extension:
-- pg_dump would leave it out, and DROP ROLE would leave it behind.
DO $$
DECLARE
    roles text;
BEGIN
    SELECT string_agg(format('fence_grant(%L)', role), ', ' ORDER BY role) INTO roles FROM @extschema@.fence_outdated_grants();
    IF roles IS NOT NULL THEN
        RAISE WARNING 'roles that fence_grant was called for lack rights on new functions' USING HINT = 'Call ' || roles || '.';
    END IF;
END
$$;
