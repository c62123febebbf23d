-- mark=row: the guarded row's own token column is the mark of an UPDATE, and no second table is touched.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE own_mark (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('own_mark', 'row:{id}', 'fence_token', 'mark=row');

-- An INSERT asks the resource's row.
INSERT INTO own_mark VALUES (1, 'inserted', 10);
SELECT fence_token('row:1');
SELECT pg_temp.outcome_code($$INSERT INTO own_mark VALUES (1, 'stale', 9)$$);

-- An UPDATE asks the row alone: accepted tokens do not move the resource's mark.
UPDATE own_mark SET note = 'stamped', fence_token = 15;
SELECT fence_token('row:1');
SELECT pg_temp.outcome($$UPDATE own_mark SET note = 'stale', fence_token = 14$$);
SELECT pg_temp.outcome_code($$UPDATE own_mark SET note = 'no token'$$);
SELECT pg_temp.outcome_code($$UPDATE own_mark SET fence_token = 0$$), pg_temp.outcome_code($$UPDATE own_mark SET fence_token = NULL$$),
    pg_temp.outcome_code($$UPDATE own_mark SET fence_token = -1$$);
UPDATE own_mark SET note = 'the same token', fence_token = 15;
SELECT * FROM own_mark;

-- A claim is compared with the row's token too, and the lower one is stale.
BEGIN;
SELECT fence_check('row:1', 12);
SELECT pg_temp.outcome($$UPDATE own_mark SET note = 'claimed with 12'$$);
SELECT pg_temp.outcome($$DELETE FROM own_mark$$);
COMMIT;
BEGIN;
SELECT fence_check('row:1', 20);
UPDATE own_mark SET note = 'claimed with 20';
SELECT pg_temp.outcome_code($$UPDATE own_mark SET fence_token = 19$$);
COMMIT;
SELECT * FROM own_mark;
BEGIN;
SET LOCAL fencelock.claims = '{"row:1": 19}';
SELECT pg_temp.outcome_code($$UPDATE own_mark SET note = 'by the setting'$$), pg_temp.outcome_code($$DELETE FROM own_mark$$);
SET LOCAL fencelock.claims = '{"row:1": 21}';
UPDATE own_mark SET note = 'by the setting';
COMMIT;
SELECT * FROM own_mark;
SELECT fence_token('row:1');

-- An accepted stamp is a claim from then on, for DELETE and INSERT as well, which ask the resource's row.
BEGIN;
UPDATE own_mark SET fence_token = 30;
UPDATE own_mark SET note = 'claimed by the stamp';
DELETE FROM own_mark;
INSERT INTO own_mark VALUES (1, 'again');
SELECT * FROM own_mark;
COMMIT;
SELECT fence_token('row:1');
SELECT pg_temp.outcome_code($$INSERT INTO own_mark VALUES (1, 'stale', 29)$$);
-- After a rollback to a savepoint it is none.
BEGIN;
SAVEPOINT one;
UPDATE own_mark SET fence_token = 31;
ROLLBACK TO one;
SELECT pg_temp.outcome_code($$DELETE FROM own_mark$$), pg_temp.outcome_code($$UPDATE own_mark SET note = 'x'$$);
COMMIT;

-- A check after a stamp presents the token to the resource's row, where the stamp was not.
BEGIN;
UPDATE own_mark SET fence_token = 32;
SELECT fence_token('row:1'), fence_check('row:1', 32), fence_token('row:1');
SELECT pg_temp.outcome_code($$SELECT fence_check('row:1', 31)$$);
COMMIT;

-- DELETE leaves the resource's row at least at the row's token, so that the row's end forgets nothing.
INSERT INTO own_mark VALUES (2, 'x', 5);
UPDATE own_mark SET fence_token = 50 WHERE id = 2;
SELECT fence_token('row:2');
BEGIN;
SELECT fence_check('row:2', 50);
DELETE FROM own_mark WHERE id = 2;
COMMIT;
SELECT fence_token('row:2');
SELECT pg_temp.outcome_code($$INSERT INTO own_mark VALUES (2, 'stale', 49)$$);

-- So does a change of resource; the new one's row is asked.
INSERT INTO own_mark VALUES (3, 'moves', 5);
UPDATE own_mark SET fence_token = 60 WHERE id = 3;
SELECT pg_temp.outcome_code($$UPDATE own_mark SET id = 4, fence_token = 7 WHERE id = 3$$);
BEGIN;
SELECT fence_check('row:3', 59);
SELECT pg_temp.outcome_code($$UPDATE own_mark SET id = 4, fence_token = 7 WHERE id = 3$$);
COMMIT;
BEGIN;
SELECT fence_check('row:3', 61);
UPDATE own_mark SET id = 4, fence_token = 7 WHERE id = 3;
COMMIT;
SELECT fence_token('row:3'), fence_token('row:4');
SELECT * FROM own_mark WHERE id = 4;
BEGIN;
SELECT fence_check('row:4', 8);
SELECT pg_temp.outcome_code($$UPDATE own_mark SET id = 3, fence_token = 60 WHERE id = 4$$);
UPDATE own_mark SET id = 3, fence_token = 61 WHERE id = 4;
COMMIT;
SELECT fence_token('row:4');
SELECT * FROM own_mark WHERE id = 3;

-- Stamps are not compared with what was issued; claims are, when they are made.
SELECT fence_issue('row:5') AS first \gset
INSERT INTO own_mark VALUES (5, 'issued', :first);
UPDATE own_mark SET fence_token = :first + 1000 WHERE id = 5;
SELECT fence_token - :first FROM own_mark WHERE id = 5;
SELECT pg_temp.outcome_code(format('SELECT fence_check(''row:5'', %s)', :first + 1001));

-- A row from before the guard has no token: any is accepted.
SELECT fence_detach('own_mark');
INSERT INTO own_mark VALUES (6, 'from before', NULL);
SELECT fence_attach('own_mark', 'row:{id}', 'fence_token', 'mark=row');
UPDATE own_mark SET fence_token = 1 WHERE id = 6;
SELECT fence_token FROM own_mark WHERE id = 6;

-- A row must be the whole resource.
CREATE TABLE not_whole (id int PRIMARY KEY, owner_id int NOT NULL, code text UNIQUE);
SELECT pg_temp.outcome($$SELECT fence_attach('not_whole', 'whole:{owner_id}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('not_whole', 'row', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('not_whole', 'whole:{owner_id}:{id}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('not_whole', 'whole:{code}', 'fence_token', 'mark=row')$$);
CREATE TABLE two_columns (a int, b int, PRIMARY KEY (a, b), c int);
SELECT pg_temp.outcome_code($$SELECT fence_attach('two_columns', 'pair:{a}', 'fence_token', 'mark=row')$$),
    pg_temp.outcome_code($$SELECT fence_attach('two_columns', 'pair:{b}:{a}', 'fence_token', 'mark=row')$$);
CREATE TABLE partly_unique (a int, b int);
CREATE UNIQUE INDEX ON partly_unique (a) WHERE b > 0;
CREATE UNIQUE INDEX ON partly_unique ((a + 1));
CREATE UNIQUE INDEX ON partly_unique (b) INCLUDE (a);
SELECT pg_temp.outcome_code($$SELECT fence_attach('partly_unique', 'partly:{a}', 'fence_token', 'mark=row')$$),
    pg_temp.outcome_code($$SELECT fence_attach('partly_unique', 'partly:{b}', 'fence_token', 'mark=row')$$);
CREATE TABLE with_child (id int PRIMARY KEY);
CREATE TABLE its_child () INHERITS (with_child);
SELECT pg_temp.outcome($$SELECT fence_attach('with_child', 'with_child:{id}', 'fence_token', 'mark=row')$$);
CREATE TABLE no_key (id int);
SELECT pg_temp.outcome_code($$SELECT fence_attach('no_key', 'row:{id}', 'fence_token', 'mark=row')$$);

DROP TABLE own_mark, not_whole, two_columns, partly_unique, its_child, with_child, no_key;
-- Two rows must not share a name: text beside text does not tell them apart, nor do digits beside digits.
CREATE TABLE twins (a text, b text, m int, n int, PRIMARY KEY (a, b), UNIQUE (m, n), UNIQUE (a, m));
SELECT pg_temp.outcome($$SELECT fence_attach('twins', '{a}{b}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('twins', '{a}:{b}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('twins', '{m}{n}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('twins', '{m}-{n}', 'fence_token', 'mark=row')$$);
SELECT fence_attach('twins', 'twins:{m}:{n}', 'fence_token', 'mark=row');
SELECT fence_attach('twins', 'twins:{a}/{m}', 'fence_token', 'mark=row');
DROP TABLE twins;
-- Nor may another table have the same names.
CREATE TABLE first_of_two (id int PRIMARY KEY);
CREATE TABLE second_of_two (id int PRIMARY KEY);
SELECT fence_attach('first_of_two', 'two:{id}', 'fence_token', 'mark=row');
SELECT pg_temp.outcome($$SELECT fence_attach('second_of_two', 'two:{id}')$$);
SELECT fence_attach('first_of_two', 'two:{id}'), fence_attach('second_of_two', 'two:{id}');
SELECT pg_temp.outcome_code($$SELECT fence_attach('second_of_two', 'two:{id}', 'fence_token', 'mark=row')$$);
-- ... whatever its columns are called.
CREATE TABLE of_first (id int PRIMARY KEY, first_id int NOT NULL);
SELECT fence_attach('of_first', 'two:{first_id}');
SELECT pg_temp.outcome_code($$SELECT fence_attach('first_of_two', 'two:{id}', 'fence_token', 'mark=row')$$);
SELECT fence_template_shape('a:{b}:{"c\}d"}'), fence_template_shape('\\{a}:b'), fence_template_shape('{a}{b}');
DROP TABLE first_of_two, second_of_two, of_first;
