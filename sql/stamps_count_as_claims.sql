-- Which token a write presents: a stamp first, then the claim, then the setting; an accepted stamp is a claim from then on.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE stamped (id int PRIMARY KEY, owner_id int NOT NULL DEFAULT 1, note text, fence_token bigint);
SELECT fence_attach('stamped', 'stamp:{owner_id}');

-- A stamp claims: what follows in the transaction needs none, DELETE included.
BEGIN;
INSERT INTO stamped VALUES (1, 1, 'stamped', 10);
INSERT INTO stamped VALUES (2, 1, 'claimed by the stamp');
UPDATE stamped SET note = note || '!' WHERE id = 2;
DELETE FROM stamped WHERE id = 1;
COMMIT;
SELECT * FROM stamped ORDER BY id;
SELECT pg_temp.outcome_code($$DELETE FROM stamped$$);

-- A stamp beside a claim: lower is stale, higher raises it, and the claim is then the higher one.
BEGIN;
SELECT fence_check('stamp:1', 20);
SELECT pg_temp.outcome($$UPDATE stamped SET fence_token = 15$$);
SELECT pg_temp.outcome_code($$INSERT INTO stamped VALUES (3, 1, 'x', 19)$$);
UPDATE stamped SET note = 'same as the claim', fence_token = 20;
UPDATE stamped SET note = 'above the claim', fence_token = 21;
SELECT fence_token('stamp:1'), fence_try('stamp:1', 20);
UPDATE stamped SET note = 'claimed with 21';
SELECT fence_token FROM stamped;
COMMIT;

-- A stamp beside the setting wins, whichever is higher; so does a claim.
BEGIN;
SET LOCAL fencelock.claims = '{"stamp:1": 50}';
UPDATE stamped SET fence_token = 22;
SELECT fence_token FROM stamped;
UPDATE stamped SET note = 'claimed by the stamp: the setting is not asked';
SELECT fence_token FROM stamped;
COMMIT;
BEGIN;
SET LOCAL fencelock.claims = '{"stamp:1": 30}';
UPDATE stamped SET note = 'by the setting';
SELECT fence_token FROM stamped;
SET LOCAL fencelock.claims = '{"stamp:1": 40}';
UPDATE stamped SET note = 'claimed with 30';
SELECT fence_token FROM stamped;
COMMIT;

-- A stamp in a savepoint that is rolled back is no claim.
BEGIN;
SAVEPOINT one;
UPDATE stamped SET fence_token = 60;
ROLLBACK TO one;
SELECT pg_temp.outcome_code($$DELETE FROM stamped$$);
COMMIT;

-- Several stamps in one statement: each must not be lower than the one before.
SELECT pg_temp.outcome_code($$INSERT INTO stamped SELECT n, 2, 'rising', n FROM generate_series(101, 110) AS n$$);
SELECT fence_token('stamp:2');
SELECT pg_temp.outcome_code($$INSERT INTO stamped SELECT 300 - n, 2, 'falling', 300 - n FROM generate_series(101, 110) AS n$$);
SELECT fence_token('stamp:2'), count(*) FROM stamped WHERE owner_id = 2;

-- A column that an earlier trigger has changed is a stamp as well.
CREATE TABLE stamped_by_trigger (id int, note text, fence_token bigint);
CREATE FUNCTION stamp_ninety() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fence_token := 90; RETURN NEW; END $$;
SELECT fence_attach('stamped_by_trigger', 'stamp:t:{id}');
INSERT INTO stamped_by_trigger VALUES (1, 'stamped', 7);
CREATE TRIGGER earlier BEFORE UPDATE ON stamped_by_trigger FOR EACH ROW EXECUTE FUNCTION stamp_ninety();
UPDATE stamped_by_trigger SET note = 'by an earlier trigger';
SELECT * FROM stamped_by_trigger;
SELECT fence_token('stamp:t:1');
SELECT pg_temp.outcome_code($$UPDATE stamped_by_trigger SET note = 'the trigger changes nothing'$$);
DROP TABLE stamped_by_trigger;

-- A change of resource: the stamp is for the new one; the old one needs a claim or the setting.
INSERT INTO stamped VALUES (5, 5, 'moves', 100);
SELECT pg_temp.outcome($$UPDATE stamped SET owner_id = 6, fence_token = 7 WHERE id = 5$$);
SELECT pg_temp.outcome_code($$UPDATE stamped SET owner_id = 6 WHERE id = 5$$);
BEGIN;
SELECT fence_check('stamp:5', 101);
SELECT pg_temp.outcome($$UPDATE stamped SET owner_id = 6 WHERE id = 5$$);
UPDATE stamped SET owner_id = 6, fence_token = 7 WHERE id = 5;
COMMIT;
SELECT owner_id, fence_token FROM stamped WHERE id = 5;
SELECT fence_token('stamp:5'), fence_token('stamp:6');
BEGIN;
SET LOCAL fencelock.claims = '{"stamp:6": 8, "stamp:7": 3}';
UPDATE stamped SET owner_id = 7 WHERE id = 5;
COMMIT;
SELECT owner_id, fence_token FROM stamped WHERE id = 5;
BEGIN;
SET LOCAL fencelock.claims = '{"stamp:7": 2, "stamp:8": 3}';
SELECT pg_temp.outcome($$UPDATE stamped SET owner_id = 8 WHERE id = 5$$);
ROLLBACK;
BEGIN;
SELECT fence_check('stamp:7', 4), fence_check('stamp:8', 9);
UPDATE stamped SET owner_id = 8 WHERE id = 5;
COMMIT;
SELECT owner_id, fence_token FROM stamped WHERE id = 5;

DROP TABLE stamped;
DROP FUNCTION stamp_ninety();
