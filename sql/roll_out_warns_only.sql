-- unfenced=warn: a write without a token is told and passes, so that a guard can be tried; a stale one is refused all the same.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE tried (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('tried', 'warn:{id}', 'fence_token', 'unfenced=warn');

\set VERBOSITY default
INSERT INTO tried VALUES (1, 'no token');
UPDATE tried SET note = 'no token' WHERE id = 1;
DELETE FROM tried WHERE id = 1;
\set VERBOSITY sqlstate
INSERT INTO tried VALUES (1, 'no token'), (2, 'no token');
SELECT * FROM tried ORDER BY id;
SELECT fence_token('warn:1') IS NULL;

-- What presents a token is compared and stamped as ever.
UPDATE tried SET note = 'stamped', fence_token = 10 WHERE id = 1;
SELECT pg_temp.outcome($$UPDATE tried SET note = 'stale', fence_token = 9 WHERE id = 1$$);
BEGIN;
SELECT fence_check('warn:1', 11);
UPDATE tried SET note = 'claimed' WHERE id = 1;
COMMIT;
BEGIN;
SET LOCAL fencelock.claims = '{"warn:1": 10}';
SELECT pg_temp.outcome_code($$UPDATE tried SET note = 'stale' WHERE id = 1$$);
COMMIT;
UPDATE tried SET note = 'no token: the last one stays in the row' WHERE id = 1;
SELECT * FROM tried ORDER BY id;
SELECT pg_temp.outcome_code($$UPDATE tried SET fence_token = -1 WHERE id = 1$$);

-- A write without a token passes, but does not take the row's token away: what presents one is still compared.
UPDATE tried SET note = 'NULL is no token', fence_token = NULL WHERE id = 1;
UPDATE tried SET note = '0 is none either', fence_token = 0 WHERE id = 1;
SELECT * FROM tried WHERE id = 1;
SELECT fence_attach('tried', 'warn:{id}', 'fence_token', 'unfenced=warn', 'mark=row');
UPDATE tried SET fence_token = 50 WHERE id = 1;
UPDATE tried SET fence_token = NULL WHERE id = 1;
SELECT pg_temp.outcome_code($$UPDATE tried SET fence_token = 49 WHERE id = 1$$);
SELECT fence_token FROM tried WHERE id = 1;

-- Where rows are their own marks, these outlive a row that goes without a token, and meet one that comes without.
DELETE FROM tried;
SELECT pg_temp.outcome_code($$INSERT INTO tried VALUES (1, 'stale', 49)$$);
INSERT INTO tried VALUES (1, 'back', 51), (3, 'no token', NULL), (4, 'other', 60);
UPDATE tried SET id = 2 WHERE id = 4;
SELECT pg_temp.outcome_code($$INSERT INTO tried VALUES (4, 'stale', 59)$$);
SELECT fence_check('warn:7', 500);
INSERT INTO tried VALUES (7, 'no token');
DELETE FROM tried WHERE id = 3;
UPDATE tried SET id = 3 WHERE id = 7;
SELECT fence_check('warn:7', 600);
UPDATE tried SET id = 7 WHERE id = 3;
SELECT id, fence_token FROM tried ORDER BY id;
SELECT pg_temp.outcome_code($$UPDATE tried SET fence_token = 599 WHERE id = 7$$);

-- TRUNCATE is refused even so.
SELECT pg_temp.outcome_code($$TRUNCATE tried$$);
DROP TABLE tried;
