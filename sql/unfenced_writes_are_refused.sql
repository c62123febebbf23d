-- A write to a guarded table carries a token that is accepted, or it is an error: no silent gap.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE orders (id int PRIMARY KEY, status text, fence_token bigint);
SELECT fence_attach('orders', 'unf:{id}');

-- No token: INSERT, UPDATE, DELETE.
SELECT pg_temp.outcome($$INSERT INTO orders VALUES (1, 'new')$$);
BEGIN;
SELECT fence_check('unf:1', 10);
INSERT INTO orders VALUES (1, 'new');
COMMIT;
SELECT pg_temp.outcome($$UPDATE orders SET status = 'paid' WHERE id = 1$$);
SELECT pg_temp.outcome($$DELETE FROM orders WHERE id = 1$$);
SELECT * FROM orders;

-- NULL and 0 are no token.
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (2, 'new', NULL)$$), pg_temp.outcome_code($$INSERT INTO orders VALUES (2, 'new', 0)$$),
    pg_temp.outcome_code($$UPDATE orders SET fence_token = NULL$$), pg_temp.outcome_code($$UPDATE orders SET fence_token = 0$$);
-- What is below 0 is a mistake.
SELECT pg_temp.outcome($$UPDATE orders SET fence_token = -1$$);
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (2, 'new', -5)$$);

-- Stamped by the statement itself.
INSERT INTO orders VALUES (2, 'stamped', 20);
UPDATE orders SET status = 'stamped again', fence_token = 21 WHERE id = 2;
SELECT pg_temp.outcome($$UPDATE orders SET status = 'stale', fence_token = 20 WHERE id = 2$$);
SELECT pg_temp.outcome($$INSERT INTO orders VALUES (2, 'stale', 3)$$);
UPDATE orders SET status = 'same token', fence_token = 21 WHERE id = 2;
UPDATE orders SET status = 'names its column', fence_token = fence_token WHERE id = 2;
SELECT * FROM orders ORDER BY id;
SELECT fence_token('unf:2');
-- A DELETE has nowhere to write a stamp.
SELECT pg_temp.outcome_code($$DELETE FROM orders WHERE fence_token = 21$$);

-- Claimed by the transaction; the token is written to the row.
BEGIN;
SELECT fence_check('unf:1', 11), fence_check('unf:2', 22), fence_check('unf:3', 30);
UPDATE orders SET status = 'claimed';
INSERT INTO orders VALUES (3, 'claimed', NULL), (4, 'stamped', 40);
SELECT * FROM orders ORDER BY id;
DELETE FROM orders WHERE id = 3;
COMMIT;
SELECT id, fence_token FROM orders ORDER BY id;

-- One row without a token is enough to refuse the statement, and nothing of it is kept.
BEGIN;
SELECT fence_check('unf:1', 12), fence_check('unf:2', 23);
SELECT pg_temp.outcome($$UPDATE orders SET status = 'all of them'$$);
COMMIT;
SELECT * FROM orders ORDER BY id;

-- A claim for another resource is none.
BEGIN;
SELECT fence_check('unf:1', 12);
SELECT pg_temp.outcome_code($$UPDATE orders SET status = 'x' WHERE id = 2$$);
ROLLBACK;

-- Presented by the setting: for INSERT, UPDATE and DELETE.
BEGIN;
SET LOCAL fencelock.claims = '{"unf:1": 12, "unf:5": 50, "unf:4": 39}';
UPDATE orders SET status = 'by setting' WHERE id = 1;
INSERT INTO orders VALUES (5, 'by setting');
DELETE FROM orders WHERE id = 1;
SELECT pg_temp.outcome($$UPDATE orders SET status = 'stale' WHERE id = 4$$);
SELECT pg_temp.outcome_code($$DELETE FROM orders WHERE id = 4$$);
COMMIT;
SELECT pg_temp.outcome_code($$DELETE FROM orders WHERE id = 5$$);
SELECT id, status, fence_token FROM orders ORDER BY id;
SELECT fence_token('unf:1'), fence_token('unf:5'), fence_token('unf:4');

-- The guard compares with what was issued as well.
SELECT fence_issue('unf:6') AS first \gset
INSERT INTO orders VALUES (6, 'issued', :first);
SELECT pg_temp.outcome_code(format('INSERT INTO orders VALUES (6, ''never issued'', %s)', :first + 1));

-- Without a token column only claims and the setting count; the hint says no more than that.
CREATE TABLE plain_orders (id int, status text);
SELECT fence_attach('plain_orders', 'unf:plain:{id}', NULL);
SELECT pg_temp.outcome($$INSERT INTO plain_orders VALUES (1, 'new')$$);
BEGIN;
SELECT fence_check('unf:plain:1', 5);
INSERT INTO plain_orders VALUES (1, 'new');
UPDATE plain_orders SET status = 'claimed';
SELECT * FROM plain_orders;
DELETE FROM plain_orders;
COMMIT;
BEGIN;
SET LOCAL fencelock.claims = '{"unf:plain:1": 4}';
SELECT pg_temp.outcome($$INSERT INTO plain_orders VALUES (1, 'stale')$$);
ROLLBACK;

-- Many rows, each of its own resource.
SELECT pg_temp.outcome_code($$INSERT INTO orders SELECT n, 'many' FROM generate_series(100, 200) AS n$$);
BEGIN;
SELECT count(*) FROM generate_series(100, 200) AS n WHERE fence_check('unf:' || n, n);
INSERT INTO orders SELECT n, 'many' FROM generate_series(100, 200) AS n;
COMMIT;
SELECT count(*) FROM orders WHERE fence_token = id AND status = 'many';

DROP TABLE orders, plain_orders;
