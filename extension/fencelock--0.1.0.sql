\echo Use "CREATE EXTENSION fencelock" to load this file. \quit

-- The tables. Each has a text primary key as its first column, which the module finds rows by; texts are kept in line
-- (at most 1 KiB each), so that no row needs TOAST. Written by the module alone.

CREATE TABLE fence_resource (
    resource text COLLATE "C" NOT NULL,
    mark bigint NOT NULL,
    owner text COLLATE "C",
    changed_at timestamptz NOT NULL,
    CONSTRAINT fence_resource_pkey PRIMARY KEY (resource)
) USING heap WITH (
    fillfactor = 50, -- room for HOT updates: a raise then touches no index
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_multixact_freeze_max_age = 10000000 -- transactions that share a token wear multixacts
);
ALTER TABLE fence_resource ALTER COLUMN resource SET STORAGE PLAIN, ALTER COLUMN owner SET STORAGE PLAIN;
COMMENT ON TABLE fence_resource IS 'the mark of each resource: the highest fencing token that was accepted';
COMMENT ON COLUMN fence_resource.mark IS 'the highest token that this database has accepted';
COMMENT ON COLUMN fence_resource.owner IS 'the first owner named at this mark; NULL: none was named';

CREATE TABLE fence_issuer (
    resource text COLLATE "C" NOT NULL,
    issued bigint NOT NULL,
    first bigint NOT NULL,
    ticket text COLLATE "C",
    lease_owner text COLLATE "C",
    lease_token bigint,
    lease_until timestamptz,
    changed_at timestamptz NOT NULL,
    CONSTRAINT fence_issuer_pkey PRIMARY KEY (resource)
) USING heap WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE fence_issuer ALTER COLUMN resource SET STORAGE PLAIN, ALTER COLUMN ticket SET STORAGE PLAIN,
    ALTER COLUMN lease_owner SET STORAGE PLAIN;
COMMENT ON TABLE fence_issuer IS 'the fencing tokens that this database has issued, and the leases it keeps itself';
COMMENT ON COLUMN fence_issuer.issued IS 'the highest token handed out, singly or in a block';
COMMENT ON COLUMN fence_issuer.first IS 'the first token of the newest reservation: lower ones are retired';
COMMENT ON COLUMN fence_issuer.ticket IS 'the ticket that the newest reservation was made for';

CREATE TABLE fence_history_state (
    name text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    identity text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    CONSTRAINT fence_history_state_pkey PRIMARY KEY (name)
) USING heap;
ALTER TABLE fence_history_state ALTER COLUMN name SET STORAGE PLAIN, ALTER COLUMN identity SET STORAGE PLAIN;
COMMENT ON TABLE fence_history_state IS
    'the generation of tokens, and the database history that it was started in; and the histories in which the extension was installed';

-- Never dumped: a copy of the database must not have the original's stamps.
CREATE TABLE fence_issuer_stamp (
    name text COLLATE "C" NOT NULL,
    stamp text COLLATE "C" NOT NULL,
    CONSTRAINT fence_issuer_stamp_pkey PRIMARY KEY (name)
) USING heap;
ALTER TABLE fence_issuer_stamp ALTER COLUMN name SET STORAGE PLAIN, ALTER COLUMN stamp SET STORAGE PLAIN;
COMMENT ON TABLE fence_issuer_stamp IS 'changes whenever fence_issuer is written by anything but fencelock';

SELECT pg_catalog.pg_extension_config_dump('fence_resource', '');
SELECT pg_catalog.pg_extension_config_dump('fence_issuer', '');
SELECT pg_catalog.pg_extension_config_dump('fence_history_state', '');

-- A restore, TRUNCATE or hand-written change of fence_issuer may bring old issues back: it gets another stamp, and with
-- it the next issue starts a new generation of tokens. The module's own writes fire no triggers.
CREATE FUNCTION fence_renew_stamp() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO @extschema@.fence_issuer_stamp AS s VALUES ('fence_issuer', gen_random_uuid()::text)
        ON CONFLICT (name) DO UPDATE SET stamp = excluded.stamp;
    RETURN NULL;
END
$$;
CREATE TRIGGER fence_renew_stamp BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fence_issuer
    FOR EACH STATEMENT EXECUTE FUNCTION fence_renew_stamp();
ALTER TABLE fence_issuer ENABLE ALWAYS TRIGGER fence_renew_stamp; -- also where triggers are switched off for a load

-- The tables are written by the module, past triggers, and by nobody else but their owner: not by those whom somebody has
-- granted all tables of a schema, nor by members of pg_write_all_data.
CREATE FUNCTION fence_refuse_write() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'permission denied for table %', TG_TABLE_NAME
            USING ERRCODE = '42501', HINT = 'Tokens are presented by fence_check, not written here.';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fence_refuse_write() IS 'trigger: keeps everybody but the owner from writing a table of fencelock by hand';
CREATE TRIGGER fence_refuse_write BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fence_resource
    FOR EACH STATEMENT EXECUTE FUNCTION fence_refuse_write();
CREATE TRIGGER fence_refuse_write BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fence_issuer
    FOR EACH STATEMENT EXECUTE FUNCTION fence_refuse_write();
CREATE TRIGGER fence_refuse_write BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fence_history_state
    FOR EACH STATEMENT EXECUTE FUNCTION fence_refuse_write();
CREATE TRIGGER fence_refuse_write BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fence_issuer_stamp
    FOR EACH STATEMENT EXECUTE FUNCTION fence_refuse_write();

-- Checking.

CREATE FUNCTION fence_check(resource text, token bigint, owner text DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_check(text, bigint, text) IS
    'presents a fencing token: true, and claimed until the transaction ends; LF001 where it is stale';

CREATE FUNCTION fence_try(resource text, token bigint, owner text DEFAULT NULL) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_try(text, bigint, text) IS
    'presents a fencing token like fence_check, but returns false where it is stale';

CREATE FUNCTION fence_token(resource text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_token(text) IS
    'the highest fencing token accepted for a resource, NULL where there is none: a look, not a check';

-- Issuing. Each in a transaction of its own: one left open keeps others waiting.

CREATE FUNCTION fence_issue(resource text, n bigint DEFAULT 1, above bigint DEFAULT 0, ticket text DEFAULT NULL)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_issue(text, bigint, bigint, text) IS
    'reserves n consecutive fencing tokens above everything issued or accepted and above "above"; returns the first, to be used once committed';

CREATE FUNCTION fence_acquire(resource text, owner text, ttl interval) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_acquire(text, text, interval) IS
    'takes a lease kept in this database: its fencing token, or NULL while another owner''s lease runs';

CREATE FUNCTION fence_renew(resource text, owner text, token bigint, ttl interval) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_renew(text, text, bigint, interval) IS
    'extends a lease from fence_acquire that this owner still has; never creates one';

CREATE FUNCTION fence_release(resource text, owner text, token bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_release(text, text, bigint) IS
    'ends a lease from fence_acquire that this owner still has';

CREATE FUNCTION fence_history() RETURNS text
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_history() IS
    'id of this database''s history of issues: blocks of tokens handed out under another id may be unknown here';

-- Protecting tables.

CREATE FUNCTION fence_guard() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_guard() IS
    'trigger: refuses writes without an accepted fencing token; arguments resource=, token=, mark=, ties=, require=, unfenced=';

CREATE FUNCTION fence_validate_guard(target oid, arguments text[]) RETURNS smallint[]
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_validate_guard(oid, text[]) IS
    'raises what fence_guard would raise for these arguments on this table; returns the columns of the resource template';

CREATE FUNCTION fence_guard_oid() RETURNS oid LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.objid FROM pg_depend d
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    JOIN pg_proc p ON p.oid = d.objid
    WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND e.extname = 'fencelock'
      AND p.proname = 'fence_guard';
$$;
COMMENT ON FUNCTION fence_guard_oid() IS 'the OID of fence_guard';

CREATE FUNCTION fence_guard_argument(arguments text[], key text, standard text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce((SELECT substr(a, length(key) + 2) FROM unnest(arguments) AS u (a)
                     WHERE starts_with(a, key || '=') LIMIT 1), standard);
$$;
COMMENT ON FUNCTION fence_guard_argument(text[], text, text) IS 'the value of one key=value argument of a guard';

-- The catalog keeps a trigger's arguments one after another, each ended by a zero byte.
CREATE FUNCTION fence_guard_arguments(stored bytea) RETURNS text[]
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rest bytea := stored;
    at int;
    found text[] := '{}';
BEGIN
    LOOP
        at := position('\x00'::bytea IN rest);
        EXIT WHEN at = 0;
        found := found || convert_from(substring(rest FROM 1 FOR at - 1), getdatabaseencoding());
        rest := substring(rest FROM at + 1);
    END LOOP;
    RETURN found;
END
$$;
COMMENT ON FUNCTION fence_guard_arguments(bytea) IS 'the arguments of a trigger, out of pg_trigger.tgargs';

CREATE FUNCTION fence_is_guarded(target oid) RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = target AND tgfoid = @extschema@.fence_guard_oid() AND tgtype & 1 = 1);
$$;
COMMENT ON FUNCTION fence_is_guarded(oid) IS 'whether a table has a guard for its rows';

-- Behind a child that has a guard of its own, that one is asked.
CREATE FUNCTION fence_unguarded_children(target regclass) RETURNS SETOF regclass LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE child (relation) AS (
        SELECT inhrelid FROM pg_inherits WHERE inhparent = target AND NOT @extschema@.fence_is_guarded(inhrelid)
        UNION
        SELECT i.inhrelid FROM child JOIN pg_inherits i ON i.inhparent = child.relation
        WHERE NOT @extschema@.fence_is_guarded(i.inhrelid))
    SELECT relation::regclass FROM child ORDER BY relation::regclass::text COLLATE "C";
$$;
COMMENT ON FUNCTION fence_unguarded_children(regclass) IS 'the tables that inherit from a table and have no guard';

-- A name for the guard that sorts behind the table's other BEFORE ROW triggers, which fire in the order of their names.
CREATE FUNCTION fence_guard_name(target regclass) RETURNS name LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last_other text;
    candidate text;
BEGIN
    SELECT max(tgname::text COLLATE "C") INTO last_other FROM pg_trigger
        WHERE tgrelid = target AND tgfoid <> @extschema@.fence_guard_oid() AND tgtype & 3 = 3; -- BEFORE, ROW
    FOREACH candidate IN ARRAY ARRAY['zz_fence_guard', 'zzzzzzzz_fence_guard', '~~~~~~~~_fence_guard'] LOOP
        IF last_other IS NULL OR last_other COLLATE "C" < candidate COLLATE "C" THEN
            RETURN candidate;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'trigger "%" of table % would run after the guard', last_other, target
        USING ERRCODE = '55000', HINT = 'Rename that trigger so that it sorts before "zz_fence_guard".';
END
$$;
COMMENT ON FUNCTION fence_guard_name(regclass) IS 'a trigger name behind the table''s other BEFORE ROW triggers';

-- mark=row makes the row its own mark, so two rows must not share a resource.
CREATE FUNCTION fence_require_one_row(target regclass, template_columns smallint[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
               WHERE i.inhparent = target AND c.relkind = 'r') THEN
        RAISE EXCEPTION 'mark=row cannot guard table %: other tables inherit from it', target
            USING ERRCODE = '0A000', HINT = 'Use mark=resource.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_index x
                   WHERE x.indrelid = target AND x.indisunique AND x.indisvalid AND x.indimmediate
                     AND x.indexprs IS NULL AND x.indpred IS NULL
                     AND (x.indkey::int2[])[0:x.indnkeyatts - 1] <@ template_columns) THEN
        RAISE EXCEPTION 'mark=row cannot guard table %: the resource template covers no unique key of it', target
            USING ERRCODE = '22023',
                  DETAIL = 'Two rows could belong to one resource, and each would be its own mark.',
                  HINT = 'Name all columns of the primary key or of a unique constraint, which is not deferrable, in the template, or use mark=resource.';
    END IF;
END
$$;
COMMENT ON FUNCTION fence_require_one_row(regclass, smallint[]) IS
    'raises 22023 unless the columns cover a unique key of the table';

-- Where a table's marks move from its rows to fence_resource, back, or to another column of the rows, they are carried over
-- between the end of the former guard and the beginning of the new one, under a lock that keeps all others out: marks to
-- the highest token in their rows, rows to the mark of their resource; what is higher stays. Rows whose resources get other
-- names leave their marks under the former ones as well, where a guard that comes back to these finds them. Marks are
-- locked in the order of their names, in which clients claim several.

CREATE FUNCTION fence_resource_name(target oid, arguments text[], of_row record) RETURNS text
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_resource_name(oid, text[], record) IS
    'the resource that a guard with these arguments would find for a row of the table';

CREATE FUNCTION fence_own_mark(resource text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_own_mark(text) IS 'the mark of a resource like fence_token, but 0 where it has none of its own: no floor counts';

CREATE FUNCTION fence_raise_mark(resource text, mark bigint) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION fence_raise_mark(text, bigint) IS 'raises a mark to a token that a row has, unless it is as high already';

CREATE FUNCTION fence_rows_of(target regclass) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || target || ' AS guarded' FROM pg_class WHERE oid = target;
$$;
COMMENT ON FUNCTION fence_rows_of(regclass) IS 'a FROM item of the rows that a guard on the table is for: not those of tables that inherit from it';

CREATE FUNCTION fence_raise_marks(target regclass, token name, names text[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$ -- an error where a policy would hide rows
DECLARE
    row_mark record;
BEGIN
    FOR row_mark IN EXECUTE format(
        'SELECT resource, max(mark) AS mark FROM unnest(%5$L::text[]) AS template (name)
         CROSS JOIN LATERAL (SELECT %1$s(%2$s, ARRAY[template.name], guarded.*) COLLATE "C" AS resource, guarded.%3$I AS mark
                             FROM %4$s WHERE guarded.%3$I > 0 OFFSET 0) AS named -- one template after the other: each is compiled once
         GROUP BY 1 ORDER BY 1',
        '@extschema@.fence_resource_name', target::oid, token, @extschema@.fence_rows_of(target), names)
    LOOP
        PERFORM @extschema@.fence_raise_mark(row_mark.resource, row_mark.mark);
    END LOOP;
END
$$;
COMMENT ON FUNCTION fence_raise_marks(regclass, name, text[]) IS
    'raises the marks of a table''s resources, by each of these templates, to the tokens in a column of its rows';

CREATE FUNCTION fence_raise_rows(target regclass, token name, mark text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    find_behind text := format('SELECT EXISTS (SELECT FROM %s WHERE coalesce(guarded.%I, 0) < %s)', @extschema@.fence_rows_of(target), token, mark);
    is_behind boolean;
    owner regrole := (SELECT relowner FROM pg_class WHERE oid = target);
BEGIN
    EXECUTE find_behind INTO is_behind;
    IF NOT is_behind THEN
        RETURN;
    END IF;
    IF owner <> quote_ident(current_user)::regrole THEN -- its triggers and constraints run with the rights of whoever updates
        RAISE EXCEPTION 'the rows of table % are to be updated, which only its owner % should do', target, owner
            USING ERRCODE = '42501', HINT = format('SET ROLE %s first; SELECT fence_grant_guards(%L) lets it call fence_attach.', owner, owner);
    END IF;
    EXECUTE format('UPDATE %s SET %I = %s WHERE coalesce(guarded.%2$I, 0) < %3$s', @extschema@.fence_rows_of(target), token, mark);
    EXECUTE find_behind INTO is_behind;
    IF is_behind THEN
        RAISE EXCEPTION 'rows of table % do not take over the marks of their resources', target
            USING ERRCODE = '55000', HINT = 'Disable the trigger or rule that keeps column "' || token || '" from being updated.';
    END IF;
END
$$;
COMMENT ON FUNCTION fence_raise_rows(regclass, name, text) IS
    'raises a column of a table''s rows to the mark of each, an SQL expression of the row guarded';

CREATE FUNCTION fence_carry_marks(target regclass, former text[], arguments text[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former_column name := @extschema@.fence_guard_argument(former, 'token', NULL);
    new_column name := @extschema@.fence_guard_argument(arguments, 'token', NULL);
    from_rows boolean := coalesce('mark=row' = ANY (former), false);
    to_rows boolean := 'mark=row' = ANY (arguments);
    former_name text := 'resource=' || @extschema@.fence_guard_argument(former, 'resource', NULL);
    new_name text := 'resource=' || @extschema@.fence_guard_argument(arguments, 'resource', NULL);
    mark_of_row text := '%s(%s(%s, ARRAY[%L], guarded.*))'; -- for format()
    mark text;
BEGIN
    IF from_rows = to_rows AND (NOT to_rows OR former_column = new_column AND former_name = new_name) THEN
        RETURN;
    END IF;
    IF from_rows AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = target AND attname = former_column AND NOT attisdropped) THEN
        IF NOT to_rows THEN
            RAISE EXCEPTION 'the marks of table % are in column "%", which does not exist any more', target, former_column
                USING ERRCODE = '55000', HINT = 'If it was renamed, attach with mark=row and its new name first. If it was dropped, its marks are lost: call fence_detach first.';
        END IF;
        RAISE WARNING 'the marks of table % were in column "%", which does not exist any more: from now on those in column "%" count', target, former_column, new_column
            USING HINT = 'If another column has them, attach again with that one.';
        former_column := new_column;
    END IF;
    IF former IS NOT NULL THEN
        BEGIN
            PERFORM @extschema@.fence_validate_guard(target, ARRAY[former_name]);
        EXCEPTION WHEN undefined_column THEN
            IF NOT from_rows OR @extschema@.fence_template_shape(former_name) <> @extschema@.fence_template_shape(new_name) THEN
                RAISE EXCEPTION 'the marks of table % are under the names of a former guard: %', target, SQLERRM
                    USING ERRCODE = '55000', HINT = format('If that column was renamed, attach with %s and its new name first.',
                        CASE WHEN from_rows THEN 'mark=row' ELSE 'mark=resource' END);
            END IF;
            former_name := NULL; -- most likely a column was renamed, and the names stay the same; but nobody can tell
        END;
    END IF;

    IF from_rows THEN
        PERFORM @extschema@.fence_raise_marks(target, former_column,
            CASE WHEN former_name <> new_name THEN ARRAY[former_name] END || CASE WHEN NOT to_rows THEN ARRAY[new_name] END);
    END IF;
    IF to_rows THEN
        -- Names that no guard has used may have marks all the same, of claims; what was pruned there is nobody's.
        mark := concat_ws(', ', CASE WHEN from_rows THEN format('guarded.%I', former_column) END,
            CASE WHEN former IS NOT NULL AND NOT from_rows THEN format(mark_of_row, '@extschema@.fence_token', '@extschema@.fence_resource_name', target::oid, former_name) END,
            CASE WHEN former_name IS DISTINCT FROM new_name THEN format(mark_of_row, '@extschema@.fence_own_mark', '@extschema@.fence_resource_name', target::oid, new_name) END);
        PERFORM @extschema@.fence_raise_rows(target, new_column, 'greatest(' || mark || ')');
    END IF;
END
$$;
COMMENT ON FUNCTION fence_carry_marks(regclass, text[], text[]) IS 'carries the marks of a table over from the place where a former guard kept them';

CREATE FUNCTION fence_end_guards(target regclass, arguments text[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former_tables regclass[];
    former_arguments bytea[];
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'the guard of table % cannot be replaced or take over marks in a transaction that reads by an older snapshot', target
            USING ERRCODE = '25001', HINT = 'Call fence_attach in a READ COMMITTED transaction.';
    END IF;
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', target); -- before guards and marks are read: others may replace and raise them
    SELECT array_agg(tgrelid::regclass), array_agg(tgargs) INTO former_tables, former_arguments FROM pg_trigger
        WHERE tgrelid IN (SELECT relid FROM pg_partition_tree(target) UNION SELECT target)
          AND tgfoid = @extschema@.fence_guard_oid() AND tgtype & 1 = 1 AND tgparentid = 0;
    PERFORM @extschema@.fence_detach(target);
    FOR i IN 1 .. coalesce(cardinality(former_tables), 0) LOOP
        PERFORM @extschema@.fence_carry_marks(former_tables[i], @extschema@.fence_guard_arguments(former_arguments[i]), arguments);
    END LOOP;
    -- Marks of claims, and of guards that were detached. No row is read where the database has no mark at all.
    IF 'mark=row' = ANY (arguments) AND target <> ALL (coalesce(former_tables, '{}')) AND pg_relation_size('@extschema@.fence_resource') > 0 THEN
        PERFORM @extschema@.fence_carry_marks(target, NULL, arguments);
    END IF;
END
$$;
COMMENT ON FUNCTION fence_end_guards(regclass, text[]) IS
    'takes the guards off a table and its partitions, and leaves their marks where a guard with these arguments looks for them';

-- Which names a template can give: two that differ in the names of columns alone may give the same ones.
CREATE FUNCTION fence_template_shape(resource text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(resource, '\{([^{}\\]|\\.)*\}', '{}', 'g');
$$;
COMMENT ON FUNCTION fence_template_shape(text) IS 'a resource template without the names of its columns';

CREATE FUNCTION fence_is_template_elsewhere(target regclass, resource text, to_rows boolean) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM pg_trigger t CROSS JOIN LATERAL @extschema@.fence_guard_arguments(t.tgargs) a (arguments)
        WHERE t.tgfoid = @extschema@.fence_guard_oid() AND t.tgtype & 1 = 1
          AND @extschema@.fence_template_shape(@extschema@.fence_guard_argument(a.arguments, 'resource', NULL)) = @extschema@.fence_template_shape(resource)
          AND t.tgrelid <> target AND t.tgrelid NOT IN (SELECT relid FROM pg_partition_tree(target))
          AND (to_rows OR 'mark=row' = ANY (a.arguments)));
$$;
COMMENT ON FUNCTION fence_is_template_elsewhere(regclass, text, boolean) IS
    'whether another table is guarded with the template, and one of both has its marks in its rows';

CREATE FUNCTION fence_require_guardable(target regclass, resource text, to_rows boolean, adds_column boolean) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    guard oid := @extschema@.fence_guard_oid();
    lost record;
BEGIN
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = target AND tgfoid = guard AND tgparentid <> 0) THEN
        RAISE EXCEPTION 'table % is guarded already, through the table that it is a partition of', target
            USING ERRCODE = '55000', HINT = 'Attach and detach the guard at the partitioned table.';
    END IF;
    IF EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fencelock'
               WHERE d.classid = 'pg_class'::regclass AND d.objid = target AND d.deptype = 'e') THEN
        RAISE EXCEPTION 'table % is fencelock''s own and cannot be guarded', target USING ERRCODE = '0A000';
    END IF;
    -- A row that is its own mark must be all of its resource, also beside other tables.
    -- Another fence_attach may be at it with the same template.
    PERFORM pg_advisory_xact_lock(guard::bigint << 32 | hashtext(@extschema@.fence_template_shape(resource))::bigint & 4294967295);
    IF @extschema@.fence_is_template_elsewhere(target, resource, to_rows) THEN
        RAISE EXCEPTION 'resource template "%" guards another table as well, which mark=row does not allow', resource
            USING ERRCODE = '22023', HINT = 'Give each table a template of its own, or use mark=resource for all of them.';
    END IF;
    -- A new column in the place of one that was renamed or dropped has none of its marks.
    SELECT t.tgrelid, former.token INTO lost
        FROM pg_trigger t CROSS JOIN LATERAL @extschema@.fence_guard_arguments(t.tgargs) a (arguments)
        CROSS JOIN LATERAL @extschema@.fence_guard_argument(a.arguments, 'token', NULL) former (token)
        WHERE t.tgrelid IN (SELECT relid FROM pg_partition_tree(target) UNION SELECT target) AND t.tgfoid = guard AND t.tgtype & 1 = 1
          AND 'mark=row' = ANY (a.arguments)
          AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = t.tgrelid AND attname = former.token AND NOT attisdropped)
        LIMIT 1;
    IF FOUND AND adds_column THEN
        RAISE EXCEPTION 'the marks of table % are in column "%", which does not exist any more', lost.tgrelid::regclass, lost.token
            USING ERRCODE = '55000', HINT = 'If it was renamed, attach with mark=row and its new name first. If it was dropped, its marks are lost: call fence_detach first.';
    END IF;
END
$$;
COMMENT ON FUNCTION fence_require_guardable(regclass, text, boolean, boolean) IS
    'raises what other tables and their guards have against a guard with this template on the table';

CREATE FUNCTION fence_attach(target regclass, resource text, token name DEFAULT 'fence_token',
                             VARIADIC options text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    arguments text[];
    literals text; -- the arguments as SQL
    stored bytea;  -- and as the catalog keeps them
    wanted_name name;
    template_columns smallint[];
    guard oid := @extschema@.fence_guard_oid();
    part regclass;
    unguarded text[];
    adds_column boolean;
BEGIN
    IF target IS NULL OR resource IS NULL OR options IS NULL THEN
        RAISE EXCEPTION 'the arguments "target", "resource" and "options" of fence_attach must not be NULL'
            USING ERRCODE = '22004';
    END IF;
    IF token LIKE '%=%' THEN
        RAISE EXCEPTION '"%" is no name of a token column', token
            USING ERRCODE = '22023', HINT = 'Options follow the token column, as in fence_attach(''orders'', ''order:{id}'', ''fence_token'', ''mark=row'').';
    END IF;
    IF EXISTS (SELECT FROM unnest(options) u (option) WHERE option ~ '^(resource|token)=') THEN
        RAISE EXCEPTION 'resource template and token column are no options of fence_attach, but its second and third argument'
            USING ERRCODE = '22023', HINT = 'As in fence_attach(''orders'', ''order:{id}'', ''fence_token'', ''mark=row'').';
    END IF;
    adds_column := token IS NOT NULL AND EXISTS (SELECT FROM pg_class WHERE oid = target AND relkind IN ('r', 'p'))
        AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = target AND attname = token AND NOT attisdropped);
    PERFORM @extschema@.fence_require_guardable(target, resource, 'mark=row' = ANY (options), adds_column);

    arguments := array['resource=' || resource];
    IF token IS NOT NULL THEN
        arguments := arguments || ('token=' || token);
    END IF;
    IF adds_column THEN
        EXECUTE format('ALTER TABLE %s ADD COLUMN %I bigint', target, token);
    END IF;
    arguments := arguments || options;
    template_columns := @extschema@.fence_validate_guard(target, arguments);
    PERFORM @extschema@.fence_validate_guard(relid, arguments) FROM pg_partition_tree(target) JOIN pg_class c ON c.oid = relid
        WHERE c.relkind IN ('r', 'p'); -- a partition may have a default of its own
    IF 'mark=row' = ANY (arguments) THEN
        PERFORM @extschema@.fence_require_one_row(target, template_columns);
    END IF;

    SELECT string_agg(quote_literal(a), ', ' ORDER BY n),
           string_agg(convert_to(a, getdatabaseencoding()) || '\x00'::bytea, ''::bytea ORDER BY n)
        INTO literals, stored
        FROM unnest(arguments) WITH ORDINALITY AS u (a, n);
    wanted_name := @extschema@.fence_guard_name(target);

    -- Idempotent: the same guard under the same name is left as it is, without a lock on the table.
    IF NOT EXISTS (SELECT FROM pg_trigger
                   WHERE tgrelid = target AND tgfoid = guard AND tgname = wanted_name AND tgtype = 31
                     AND tgenabled IN ('O', 'A') AND tgqual IS NULL AND cardinality(tgattr::int2[]) = 0
                     AND tgargs = stored) THEN
        IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree(target) UNION SELECT target) AND tgfoid = guard)
           OR 'mark=row' = ANY (arguments) THEN
            PERFORM @extschema@.fence_end_guards(target, arguments);
        END IF;
        EXECUTE format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s(%s)',
                       wanted_name, target, guard::regproc, literals);
    END IF;

    -- A statement trigger is not handed down to partitions, and each can be truncated by itself.
    FOR part IN SELECT relid FROM pg_partition_tree(target) UNION SELECT target LOOP
        IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = part AND tgfoid = guard AND tgtype = 34
                         AND tgenabled IN ('O', 'A')) THEN
            IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = part AND tgname = 'zz_fence_guard_truncate') THEN
                EXECUTE format('DROP TRIGGER zz_fence_guard_truncate ON %s', part); -- one that is disabled
            END IF;
            EXECUTE format('CREATE TRIGGER zz_fence_guard_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()',
                           part, guard::regproc);
        END IF;
    END LOOP;

    unguarded := ARRAY(SELECT @extschema@.fence_unguarded_children(target)::text);
    IF unguarded <> '{}' THEN
        RAISE WARNING 'tables that inherit from table % are not guarded: %', target,
                array_to_string(unguarded[:5], ', ') || CASE WHEN cardinality(unguarded) > 5 THEN format(' and %s more', cardinality(unguarded) - 5) ELSE '' END
            USING HINT = 'Call fence_attach for each of them as well, with the same arguments.';
    END IF;
END
$$;
COMMENT ON FUNCTION fence_attach(regclass, text, name, text[]) IS
    'guards a table: refuses writes without an accepted fencing token of the row''s resource, and TRUNCATE';

CREATE FUNCTION fence_detach(target regclass) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found record;
BEGIN
    IF target IS NULL THEN
        RAISE EXCEPTION 'argument "target" must not be NULL' USING ERRCODE = '22004';
    END IF;
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = target AND tgfoid = @extschema@.fence_guard_oid() AND tgparentid <> 0) THEN
        RAISE EXCEPTION 'table % is guarded through the table that it is a partition of', target
            USING ERRCODE = '55000', HINT = 'Detach the guard at the partitioned table.';
    END IF;
    FOR found IN
        SELECT t.tgname, t.tgrelid::regclass AS relation FROM pg_trigger t
        WHERE t.tgrelid IN (SELECT relid FROM pg_partition_tree(target) UNION SELECT target)
          AND t.tgfoid = @extschema@.fence_guard_oid() AND t.tgparentid = 0
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', found.tgname, found.relation);
    END LOOP;
END
$$;
COMMENT ON FUNCTION fence_detach(regclass) IS 'takes the guard off a table; its token column stays';

-- Rights. By default nobody but superusers may execute anything.

CREATE FUNCTION fence_grant_functions(role regrole, names name[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home regnamespace := (SELECT pronamespace FROM pg_proc WHERE oid = @extschema@.fence_guard_oid());
BEGIN
    IF role IS NULL THEN
        RAISE EXCEPTION 'argument "role" must not be NULL' USING ERRCODE = '22004';
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %s', home, role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s',
        (SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc WHERE pronamespace = home AND proname = ANY (names)), role);
END
$$;
COMMENT ON FUNCTION fence_grant_functions(regrole, name[]) IS 'lets a role execute functions of fencelock';

CREATE FUNCTION fence_grant(role regrole) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM @extschema@.fence_grant_functions(role, ARRAY['fence_check', 'fence_try', 'fence_token', 'fence_issue',
        'fence_acquire', 'fence_renew', 'fence_release', 'fence_history', 'fence_receipt', 'fence_outcome']);
END
$$;
COMMENT ON FUNCTION fence_grant(regrole) IS
    'lets a role present and issue tokens: all that an application needs, not what creates guards';

REVOKE ALL ON FUNCTION fence_renew_stamp(), fence_refuse_write(), fence_check(text, bigint, text), fence_try(text, bigint, text),
    fence_token(text), fence_issue(text, bigint, bigint, text), fence_acquire(text, text, interval),
    fence_renew(text, text, bigint, interval), fence_release(text, text, bigint), fence_history(), fence_guard(),
    fence_validate_guard(oid, text[]), fence_guard_oid(), fence_guard_name(regclass),
    fence_require_one_row(regclass, smallint[]), fence_guard_argument(text[], text, text), fence_guard_arguments(bytea),
    fence_is_guarded(oid), fence_unguarded_children(regclass), fence_resource_name(oid, text[], record),
    fence_own_mark(text), fence_raise_mark(text, bigint), fence_rows_of(regclass),
    fence_raise_marks(regclass, name, text[]), fence_raise_rows(regclass, name, text), fence_carry_marks(regclass, text[], text[]), fence_end_guards(regclass, text[]),
    fence_template_shape(text), fence_is_template_elsewhere(regclass, text, boolean), fence_require_guardable(regclass, text, boolean, boolean),
    fence_attach(regclass, text, name, text[]), fence_detach(regclass), fence_grant_functions(regrole, name[]),
    fence_grant(regrole) FROM PUBLIC;

-- The history in which tokens may start at 1. A copy from before the first issue, such as a standby that missed it, is
-- another one; so is a database into which a dump has brought the row of another history.
INSERT INTO fence_history_state SELECT 'installed as ' || id, 0, id, pg_catalog.now() FROM fence_history() AS id;
