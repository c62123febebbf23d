-- PREPARE TRANSACTION keeps marks locked until it is finished, and leaves no claim behind in the session.
\set ECHO none
\i sql/include/outcome.psql
SELECT current_setting('max_prepared_transactions')::int = 0 AS cannot_prepare \gset
\if :cannot_prepare
\quit
\endif
CREATE TABLE prepared (id int, fence_token bigint);
SELECT fence_attach('prepared', 'prep:{id}');
BEGIN;
SELECT fence_check('prep:1', 5);
INSERT INTO prepared VALUES (1);
PREPARE TRANSACTION 'regress_fencelock';
-- No claim is left; the mark in progress refuses what is lower; the same and higher tokens would wait.
SELECT pg_temp.outcome_code($$INSERT INTO prepared VALUES (1)$$);
SELECT pg_temp.outcome_code($$SELECT fence_check('prep:1', 4)$$);
SET lock_timeout = '10ms';
SELECT pg_temp.outcome_code($$SELECT fence_check('prep:1', 5)$$), pg_temp.outcome_code($$SELECT fence_check('prep:1', 6)$$);
RESET lock_timeout;
-- Issuing does not wait for it, and counts its mark.
SELECT fence_issue('prep:1') > 5;
SELECT fence_token('prep:1') IS NULL;
-- Over a new connection it is the same.
\c -
SELECT fence_try('prep:1', 4);
COMMIT PREPARED 'regress_fencelock';
SELECT fence_token('prep:1');
SELECT * FROM prepared;
BEGIN;
SELECT fence_try('prep:1', 5);
SAVEPOINT one;
UPDATE prepared SET id = 1;
RELEASE one;
PREPARE TRANSACTION 'regress_fencelock';
ROLLBACK PREPARED 'regress_fencelock';
SELECT fence_try('prep:1', 5), fence_token('prep:1');
DROP TABLE prepared;
