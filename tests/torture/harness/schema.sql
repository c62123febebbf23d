-- The tables that the workers write. by_tx and by_token say which transaction of the history wrote a row last, and
-- under which token that one worked.
CREATE EXTENSION fencelock;

CREATE TABLE account (id text PRIMARY KEY, counter bigint NOT NULL DEFAULT 0, by_tx text, by_token bigint, fence_token bigint);
CREATE TABLE ledger (LIKE account INCLUDING ALL);
CREATE TABLE solo (LIKE account INCLUDING ALL);
CREATE TABLE once (LIKE account INCLUDING ALL);
CREATE TABLE bare (id text PRIMARY KEY, counter bigint NOT NULL DEFAULT 0, by_tx text, by_token bigint);
CREATE TABLE purse (id text PRIMARY KEY, amount bigint NOT NULL DEFAULT 1000, by_tx text, by_token bigint, fence_token bigint);
CREATE TABLE note (number bigserial PRIMARY KEY, id text NOT NULL, by_tx text, by_token bigint, fence_token bigint);
CREATE INDEX ON note (id);

-- What was written, in the writing transaction; never changed afterwards. (No key: nothing must wait here.)
CREATE TABLE journal (
    number bigserial, xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    source text NOT NULL, action text NOT NULL, resource text NOT NULL, by_tx text, by_token bigint, fence_token bigint,
    before bigint, after bigint);

CREATE FUNCTION write_journal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_row jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    new_row jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
BEGIN
    INSERT INTO journal (source, action, resource, by_tx, by_token, fence_token, before, after) VALUES (
        TG_TABLE_NAME, TG_OP, TG_ARGV[0] || ':' || (coalesce(new_row, old_row) ->> 'id'),
        coalesce(new_row ->> 'by_tx', current_setting('torture.by_tx', true)),
        coalesce(new_row ->> 'by_token', current_setting('torture.by_token', true))::bigint,
        (new_row ->> 'fence_token')::bigint,
        coalesce(old_row ->> 'counter', old_row ->> 'amount')::bigint,
        coalesce(new_row ->> 'counter', new_row ->> 'amount')::bigint);
    RETURN NULL;
END
$$;

-- The rows of every resource: those named FAMILY:ID for each family and each of the ids.
CREATE FUNCTION torture_add_resources(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    FOREACH target IN ARRAY '{account,ledger,bare,purse,solo,once}'::text[] LOOP
        EXECUTE format('INSERT INTO %I (id) SELECT unnest($1)', target) USING ids;
    END LOOP;
END
$$;

CREATE FUNCTION torture_guard() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    PERFORM fence_attach('account', 'acct:{id}');
    PERFORM fence_attach('ledger', 'acct:{id}', 'fence_token', 'require=claim');
    PERFORM fence_attach('bare', 'acct:{id}', NULL);
    PERFORM fence_attach('note', 'acct:{id}');
    PERFORM fence_attach('purse', 'acct:{id}');
    PERFORM fence_attach('solo', 'solo:{id}', 'fence_token', 'mark=row');
    PERFORM fence_attach('once', 'once:{id}', 'fence_token', 'ties=reject');
    FOREACH target IN ARRAY '{account,ledger,bare,note,purse,solo,once}'::text[] LOOP
        EXECUTE format('CREATE TRIGGER journal AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION write_journal(%L)',
                       target, CASE WHEN target IN ('solo', 'once') THEN target ELSE 'acct' END);
    END LOOP;
END
$$;

-- Locks alone, as without fencelock: tokens are handed out, and nobody compares them.
CREATE FUNCTION torture_unfence() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    guarded regclass;
BEGIN
    FOR guarded IN SELECT target FROM fence_attachment LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER zz_fence_guard', guarded);
    END LOOP;
    CREATE OR REPLACE FUNCTION fence_check(resource text, token bigint, owner text DEFAULT NULL) RETURNS boolean
        LANGUAGE sql VOLATILE AS 'SELECT true';
    CREATE OR REPLACE FUNCTION fence_try(resource text, token bigint, owner text DEFAULT NULL) RETURNS boolean
        LANGUAGE sql VOLATILE AS 'SELECT true';
END
$$;
