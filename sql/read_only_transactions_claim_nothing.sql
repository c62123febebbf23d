-- Checks, issues and leases are writes: a read-only transaction refuses them, and may look.
\set ECHO none
\i sql/include/outcome.psql
SELECT fence_check('ro:1', 5);
CREATE TEMP TABLE temporary (id int, fence_token bigint);
SELECT fence_attach('temporary', 'ro:temporary');
BEGIN READ ONLY;
SAVEPOINT one;
SELECT pg_temp.outcome(statement) FROM unnest(ARRAY['SELECT fence_check(''ro:1'', 6)', 'SELECT fence_try(''ro:1'', 6)', 'SELECT fence_issue(''ro:1'')',
    'SELECT fence_acquire(''ro:1'', ''o'', ''1 s'')', 'SELECT fence_renew(''ro:1'', ''o'', 1, ''1 s'')', 'SELECT fence_release(''ro:1'', ''o'', 1)']) AS statement;
-- Also the token that is the mark already, and one that is stale.
SELECT pg_temp.outcome_code('SELECT fence_check(''ro:1'', 5)'), pg_temp.outcome_code('SELECT fence_check(''ro:1'', 4)');
SELECT fence_token('ro:1'), fence_history() IS NOT NULL;
-- PostgreSQL lets it write temporary tables; their guard's mark is permanent.
SELECT pg_temp.outcome_code('INSERT INTO temporary VALUES (1, 7)');
COMMIT;
SELECT fence_token('ro:1'), fence_token('ro:temporary') IS NULL;
-- A transaction that turns read-only keeps what it claimed before.
BEGIN;
SELECT fence_check('ro:1', 6);
SET TRANSACTION READ ONLY;
SELECT pg_temp.outcome_code('SELECT fence_check(''ro:1'', 7)');
COMMIT;
SELECT fence_token('ro:1');
-- What writes cannot run in parallel workers.
SELECT proname, proparallel, provolatile FROM pg_proc WHERE proname IN ('fence_check', 'fence_try', 'fence_issue', 'fence_acquire', 'fence_renew', 'fence_release')
    ORDER BY proname;
