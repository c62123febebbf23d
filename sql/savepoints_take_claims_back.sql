-- A claim lives as long as what made it: it ends with its transaction, and a rollback to a savepoint takes it back.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE savepoint_guarded (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('savepoint_guarded', 'sp:{id}');

-- A raise in a savepoint that is rolled back: mark and claim are what they were.
BEGIN;
SELECT fence_check('sp:1', 5);
SAVEPOINT one;
SELECT fence_check('sp:1', 9), fence_token('sp:1');
INSERT INTO savepoint_guarded VALUES (1, 'written with 9');
ROLLBACK TO one;
SELECT fence_token('sp:1'), fence_try('sp:1', 6), fence_token('sp:1');
INSERT INTO savepoint_guarded VALUES (1, 'written with 6');
COMMIT;
SELECT * FROM savepoint_guarded;
SELECT fence_token('sp:1');

-- A first claim in a savepoint that is rolled back leaves no claim and no mark.
BEGIN;
SAVEPOINT one;
SELECT fence_check('sp:2', 5);
ROLLBACK TO one;
SELECT fence_token('sp:2') IS NULL;
SELECT pg_temp.outcome_code($$INSERT INTO savepoint_guarded VALUES (2)$$);
SELECT fence_check('sp:2', 3);
COMMIT;
SELECT fence_token('sp:2');

-- A released savepoint's claim is its parent's.
BEGIN;
SAVEPOINT one;
SELECT fence_check('sp:3', 5);
RELEASE one;
INSERT INTO savepoint_guarded VALUES (3, 'claimed in a released savepoint');
COMMIT;
SELECT note, fence_token FROM savepoint_guarded WHERE id = 3;

-- Nested: released into a savepoint that is rolled back.
BEGIN;
SELECT fence_check('sp:4', 1);
SAVEPOINT outer_one;
SELECT fence_check('sp:4', 2);
SAVEPOINT inner_one;
SELECT fence_check('sp:4', 3);
SELECT fence_check('sp:4b', 3);
RELEASE inner_one;
SELECT fence_try('sp:4', 2), fence_token('sp:4');
ROLLBACK TO outer_one;
SELECT fence_token('sp:4'), fence_token('sp:4b') IS NULL, fence_try('sp:4', 1);
SAVEPOINT inner_two;
SELECT fence_check('sp:4', 4);
SAVEPOINT inner_three;
SELECT fence_check('sp:4', 5);
ROLLBACK TO inner_three;
SELECT fence_token('sp:4'), fence_try('sp:4', 3);
RELEASE inner_two;
INSERT INTO savepoint_guarded VALUES (4, 'claimed with 4');
COMMIT;
SELECT note, fence_token FROM savepoint_guarded WHERE id = 4;

-- One savepoint rolled back to again and again.
BEGIN;
SAVEPOINT one;
SELECT fence_check('sp:5', 1);
ROLLBACK TO one;
SELECT fence_check('sp:5', 2);
ROLLBACK TO one;
SELECT fence_token('sp:5') IS NULL;
SELECT fence_check('sp:5', 1);
ROLLBACK TO one;
RELEASE one;
SELECT pg_temp.outcome_code($$INSERT INTO savepoint_guarded VALUES (5)$$);
ROLLBACK;

-- An exception block is a savepoint; a loop of them too.
DO $$
BEGIN
    PERFORM fence_check('sp:6', 10);
    BEGIN
        PERFORM fence_check('sp:6', 20);
        INSERT INTO savepoint_guarded VALUES (6, 'in the block');
        RAISE EXCEPTION 'away with it';
    EXCEPTION WHEN raise_exception THEN
        NULL;
    END;
    INSERT INTO savepoint_guarded VALUES (6, 'after the block');
    FOR n IN 1..2000 LOOP
        BEGIN
            PERFORM fence_check('sp:6', 10 + n), fence_check('sp:6:' || n, n);
            IF n % 2 = 0 THEN
                RAISE EXCEPTION 'every other';
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
    END LOOP;
END
$$;
SELECT note, fence_token FROM savepoint_guarded WHERE id = 6;
SELECT fence_token('sp:6');
SELECT count(*), bool_and(mark % 2 = 1) FROM fence_resource WHERE resource LIKE 'sp:6:%';

-- A refusal in a savepoint does not touch what was claimed before it.
BEGIN;
SELECT fence_check('sp:7', 8);
SELECT pg_temp.outcome($$SELECT fence_check('sp:7', 7)$$);
INSERT INTO savepoint_guarded VALUES (7, 'still claimed');
COMMIT;
SELECT note, fence_token FROM savepoint_guarded WHERE id = 7;

-- An owner named in a savepoint that is rolled back is not named.
BEGIN;
SELECT fence_check('sp:8', 5);
SAVEPOINT one;
SELECT fence_check('sp:8', 5, 'first');
SELECT pg_temp.outcome_code($$SELECT fence_check('sp:8', 5, 'second')$$);
ROLLBACK TO one;
SELECT fence_check('sp:8', 5, 'second');
COMMIT;
SELECT owner FROM fence_resource WHERE resource = 'sp:8';

-- Claims end with the transaction, so a session in a pool has none of its predecessor's.
BEGIN;
SELECT fence_check('sp:9', 5);
COMMIT;
SELECT pg_temp.outcome_code($$INSERT INTO savepoint_guarded VALUES (9)$$);
BEGIN;
SELECT fence_check('sp:9', 6);
ROLLBACK;
SELECT fence_token('sp:9');
SELECT pg_temp.outcome_code($$INSERT INTO savepoint_guarded VALUES (9)$$);

-- In a procedure that commits, they end with each of its transactions.
DO $$
BEGIN
    PERFORM fence_check('sp:10', 5);
    COMMIT;
    INSERT INTO savepoint_guarded VALUES (10);
END
$$;
SELECT count(*) FROM savepoint_guarded WHERE id = 10;

-- Nor are they left behind by a savepoint that an error ended.
BEGIN;
SELECT fence_check('sp:11', 1);
SAVEPOINT one;
SELECT fence_check('sp:11', 2);
SELECT 1 / 0;
ROLLBACK TO one;
INSERT INTO savepoint_guarded VALUES (11, 'claimed with 1');
COMMIT;
SELECT note, fence_token FROM savepoint_guarded WHERE id = 11;

DROP TABLE savepoint_guarded;
