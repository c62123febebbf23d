-- The extension works from any schema, whatever the caller's search_path finds before it.
\set ECHO none
\i sql/include/outcome.psql
SELECT current_database() AS home \gset
CREATE DATABASE regression_fencelock_elsewhere TEMPLATE template0;
\c regression_fencelock_elsewhere
\set ECHO none
\i sql/include/outcome.psql
CREATE SCHEMA "Fence Lock";
-- Objects that would be found first, if anything looked them up by the caller's path.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.max(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.quote_literal(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.fence_guard_oid() RETURNS oid LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile operator'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.equal);
CREATE TABLE hostile.fence_resource (resource text PRIMARY KEY, mark bigint);
CREATE TABLE hostile.fence_issuer (resource text PRIMARY KEY, issued bigint);
CREATE TABLE hostile.pg_trigger ();
CREATE TABLE hostile.pg_proc ();
SET search_path = hostile, pg_catalog;
CREATE EXTENSION fencelock SCHEMA "Fence Lock";
CREATE TABLE hostile.orders (id int PRIMARY KEY, status text);
SELECT "Fence Lock".fence_attach('orders', 'any:{id}');
SELECT "Fence Lock".fence_attach('orders', 'any:{id}');
SELECT "Fence Lock".fence_check('any:1', 5), "Fence Lock".fence_token('any:1');
INSERT INTO orders VALUES (1, 'stamped', 6);
SELECT pg_temp.outcome_code($$UPDATE orders SET status = 'no token'$$), pg_temp.outcome_code($$TRUNCATE orders$$);
SELECT "Fence Lock".fence_attach('orders', 'any:{id}', 'fence_token', 'mark=row');
SELECT "Fence Lock".fence_acquire('any:2', 'o', '1 hour'), "Fence Lock".fence_issue('any:2', 3), "Fence Lock".fence_issue('any:3'),
    "Fence Lock".fence_history() IS NOT NULL;
SET search_path = '';
SELECT "Fence Lock".fence_check('any:1', 7), "Fence Lock".fence_token('any:1');
UPDATE hostile.orders SET fence_token = 8;
SELECT pg_temp.outcome_code($$UPDATE hostile.orders SET fence_token = 7$$);
BEGIN;
SET LOCAL fencelock.claims = '{"any:1": 9}';
DELETE FROM hostile.orders;
COMMIT;
CREATE ROLE "regress fencelock, quoted";
SELECT "Fence Lock".fence_grant('"regress fencelock, quoted"');
SET ROLE "regress fencelock, quoted";
SELECT "Fence Lock".fence_check('any:1', 10);
SELECT pg_temp.outcome_code($$SELECT * FROM "Fence Lock".fence_resource$$);
RESET ROLE;
SELECT count(*) FROM hostile.fence_resource;
SELECT count(*) FROM "Fence Lock".fence_resource;
-- Everything is in that schema; nobody but superusers may execute anything by default.
SELECT count(*) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'fencelock'
    WHERE p.pronamespace <> '"Fence Lock"'::regnamespace OR pg_catalog.has_function_privilege('pg_monitor', p.oid, 'EXECUTE');

-- A session goes on after the extension was dropped and created elsewhere.
SET search_path = pg_catalog;
SELECT pg_temp.outcome_code('DROP EXTENSION fencelock');
DROP EXTENSION fencelock CASCADE;
CREATE SCHEMA second;
CREATE EXTENSION fencelock SCHEMA second;
SELECT second.fence_token('any:1') IS NULL, second.fence_check('any:1', 1), second.fence_issue('any:9');
SELECT second.fence_attach('hostile.orders', 'any:{id}');
INSERT INTO hostile.orders VALUES (1, 'new', 2);
BEGIN;
DROP EXTENSION fencelock CASCADE;
CREATE EXTENSION fencelock SCHEMA "Fence Lock";
ROLLBACK;
SELECT second.fence_token('any:1');
\c :home
DROP DATABASE regression_fencelock_elsewhere;
DROP ROLE "regress fencelock, quoted";
