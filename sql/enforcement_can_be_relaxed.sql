-- fencelock.enforce: under warn refusals are warnings, accepted tokens move marks and are stamped as ever, refused ones
-- neither; under off guards do nothing, and functions still check. fence_reset corrects a mark, and is logged.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE relaxed (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('relaxed', 'relax:{id}');
INSERT INTO relaxed VALUES (1, 'new', 10);

\set VERBOSITY terse
SET fencelock.enforce = warn;
UPDATE relaxed SET note = 'unfenced';
UPDATE relaxed SET note = 'stale', fence_token = 4;
SELECT note, fence_token, fence_token('relax:1') FROM relaxed;
UPDATE relaxed SET note = 'newer', fence_token = 12;
SELECT note, fence_token, fence_token('relax:1') FROM relaxed;
SELECT fence_check('relax:1', 4), fence_try('relax:1', 4), fence_token('relax:1');

SET fencelock.enforce = off;
UPDATE relaxed SET note = 'ignored', fence_token = 3;
SELECT note, fence_token, fence_token('relax:1') FROM relaxed;
SELECT pg_temp.outcome_code($$SELECT fence_check('relax:1', 4)$$);
TRUNCATE relaxed;
RESET fencelock.enforce;
SELECT pg_temp.outcome_code('INSERT INTO relaxed VALUES (1)');

CREATE ROLE regress_fencelock_relaxed;
SET ROLE regress_fencelock_relaxed;
SELECT pg_temp.outcome_code('SET fencelock.enforce = off');
RESET ROLE;
DROP ROLE regress_fencelock_relaxed;

-- A poisoned mark.
SELECT fence_check('relax:poisoned', 9000000000000000000);
SELECT pg_temp.outcome_code($$SELECT fence_check('relax:poisoned', 5)$$);
SET log_statement = none;
SET log_min_duration_statement = -1;
SET client_min_messages = log;
SELECT fence_reset('relax:poisoned', 4);
RESET client_min_messages;
SELECT fence_check('relax:poisoned', 5), fence_token('relax:poisoned');
SELECT pg_temp.outcome_code($$SELECT fence_reset('relax:poisoned', -1)$$);
DROP TABLE relaxed;
