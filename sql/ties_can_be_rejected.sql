-- ties=reject: each write of a row needs a higher token than the row has; the error is that of a stale token.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE tied (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('tied', 'tie:{id}', 'fence_token', 'ties=reject');

INSERT INTO tied VALUES (1, 'inserted', 10);
SELECT pg_temp.outcome($$UPDATE tied SET note = 'tie', fence_token = 10$$);
SELECT pg_temp.outcome($$UPDATE tied SET note = 'stale', fence_token = 9$$);
SELECT pg_temp.outcome_code($$UPDATE tied SET fence_token = fence_token$$);
UPDATE tied SET note = 'higher', fence_token = 11;

-- A second write of one transaction to one row is refused too, by claim and by stamp.
BEGIN;
SELECT fence_check('tie:1', 12);
UPDATE tied SET note = 'claimed with 12';
SELECT pg_temp.outcome_code($$UPDATE tied SET note = 'again'$$), pg_temp.outcome_code($$UPDATE tied SET fence_token = 12$$);
UPDATE tied SET note = 'a higher one', fence_token = 13;
COMMIT;
SELECT * FROM tied;
BEGIN;
SET LOCAL fencelock.claims = '{"tie:1": 13}';
SELECT pg_temp.outcome_code($$UPDATE tied SET note = 'by the setting'$$);
COMMIT;

-- INSERT and DELETE accept ties.
BEGIN;
SELECT fence_check('tie:1', 13), fence_check('tie:2', 13);
DELETE FROM tied;
INSERT INTO tied VALUES (1, 'inserted again'), (2, 'another');
DELETE FROM tied WHERE id = 2;
COMMIT;
SELECT * FROM tied;

-- The resource's mark still counts: above the row's token, below the mark.
SELECT fence_check('tie:1', 20);
SELECT pg_temp.outcome_code($$UPDATE tied SET fence_token = 19$$);
UPDATE tied SET fence_token = 20;
SELECT fence_token FROM tied;

-- A row without a token takes any.
SELECT fence_detach('tied');
UPDATE tied SET fence_token = NULL;
SELECT fence_attach('tied', 'tie:{id}', 'fence_token', 'ties=reject');
UPDATE tied SET fence_token = 20;

-- Together with mark=row, it is the hand-written "fence_token < $1".
SELECT fence_attach('tied', 'tie:{id}', 'fence_token', 'ties=reject', 'mark=row');
SELECT pg_temp.outcome($$UPDATE tied SET note = 'tie', fence_token = 20$$);
SELECT pg_temp.outcome_code($$UPDATE tied SET note = 'stale', fence_token = 19$$);
UPDATE tied SET note = 'higher', fence_token = 21;
BEGIN;
SELECT fence_check('tie:1', 22);
UPDATE tied SET note = 'claimed';
SELECT pg_temp.outcome_code($$UPDATE tied SET note = 'claimed again'$$);
COMMIT;
SELECT * FROM tied;

-- It needs a token column.
SELECT pg_temp.outcome($$SELECT fence_attach('tied', 'tie:{id}', NULL, 'ties=reject')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('tied', 'tie:{id}', NULL, 'mark=row')$$);
DROP TABLE tied;
