-- require=claim: for programs that save every column, what they write into the token column counts for nothing.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE saved (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('saved', 'tool:{id}', 'fence_token', 'require=claim');

SELECT pg_temp.outcome($$INSERT INTO saved VALUES (1, 'stamped', 10)$$);
BEGIN;
SELECT fence_check('tool:1', 5);
INSERT INTO saved VALUES (1, 'claimed', 10);
COMMIT;
SELECT * FROM saved;
-- An UPDATE of every column, with the old token, with a higher and a lower one: all are overwritten.
SELECT pg_temp.outcome_code($$UPDATE saved SET id = 1, note = 'x', fence_token = 5$$), pg_temp.outcome_code($$UPDATE saved SET fence_token = 99$$);
BEGIN;
SELECT fence_check('tool:1', 6);
UPDATE saved SET id = 1, note = 'the old token', fence_token = 5;
SELECT * FROM saved;
UPDATE saved SET note = 'a higher one', fence_token = 99;
SELECT * FROM saved;
UPDATE saved SET note = 'none', fence_token = NULL;
SELECT * FROM saved;
UPDATE saved SET note = 'below 0', fence_token = -7;
COMMIT;
SELECT * FROM saved;
SELECT fence_token('tool:1');
BEGIN;
SET LOCAL fencelock.claims = '{"tool:1": 7}';
UPDATE saved SET note = 'by the setting', fence_token = 6;
COMMIT;
SELECT * FROM saved;

-- With the other options.
SELECT fence_attach('saved', 'tool:{id}', 'fence_token', 'require=claim', 'mark=row', 'ties=reject');
SELECT pg_temp.outcome_code($$UPDATE saved SET fence_token = 50$$);
BEGIN;
SELECT fence_check('tool:1', 7);
SELECT pg_temp.outcome_code($$UPDATE saved SET note = 'tie', fence_token = 50$$);
COMMIT;
BEGIN;
SELECT fence_check('tool:1', 8);
UPDATE saved SET note = 'claimed', fence_token = 50;
COMMIT;
SELECT * FROM saved;
DROP TABLE saved;
