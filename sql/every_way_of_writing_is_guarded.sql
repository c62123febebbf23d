-- INSERT ... ON CONFLICT, COPY, foreign keys' actions, views, rules, functions, WITH: all go through the guard.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE shops (id int PRIMARY KEY, name text);
SELECT fence_attach('shops', 'way:shop:{id}');
CREATE TABLE orders (
    id int PRIMARY KEY, shop_id int REFERENCES shops ON DELETE CASCADE ON UPDATE CASCADE, status text, fence_token bigint,
    status_length int GENERATED ALWAYS AS (length(status)) STORED);
SELECT fence_attach('orders', 'way:{id}');
INSERT INTO shops VALUES (1, 'one', 1), (2, 'two', 1);
INSERT INTO orders VALUES (1, 1, 'new', 10), (2, 1, 'new', 20), (3, 2, 'new', 30);

-- Generated columns are computed from what was written.
UPDATE orders SET status = 'confirmed', fence_token = 11 WHERE id = 1;
SELECT status_length, fence_token FROM orders WHERE id = 1;

-- INSERT ... ON CONFLICT: the proposed row's stamp is presented, and counts even where no row is written.
INSERT INTO orders VALUES (1, 1, 'again', 12) ON CONFLICT DO NOTHING;
SELECT fence_token('way:1'), status, fence_token FROM orders WHERE id = 1;
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (1, 1, 'stale', 11) ON CONFLICT DO NOTHING$$);
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (1, 1, 'no token') ON CONFLICT DO NOTHING$$);
INSERT INTO orders VALUES (1, 1, 'upserted', 13) ON CONFLICT (id) DO UPDATE SET status = excluded.status;
SELECT status, fence_token FROM orders WHERE id = 1;
INSERT INTO orders VALUES (1, 1, 'both', 14) ON CONFLICT (id) DO UPDATE SET status = excluded.status, fence_token = excluded.fence_token;
SELECT status, fence_token FROM orders WHERE id = 1;
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (1, 1, 'stale', 13) ON CONFLICT (id) DO UPDATE SET status = excluded.status$$);
SELECT pg_temp.outcome_code($$INSERT INTO orders VALUES (1, 1, 'lower', 15) ON CONFLICT (id) DO UPDATE SET fence_token = 14$$);
BEGIN;
SELECT fence_check('way:1', 15);
INSERT INTO orders VALUES (1, 1, 'claimed') ON CONFLICT (id) DO UPDATE SET status = excluded.status;
COMMIT;
SELECT status, fence_token FROM orders WHERE id = 1;

-- COPY: with a token in the data, claimed, and without.
COPY orders (id, shop_id, status, fence_token) FROM stdin;
4	1	copied	40
\.
COPY orders (id, shop_id, status) FROM stdin;
5	1	no token
\.
BEGIN;
SELECT fence_check('way:5', 50), fence_check('way:6', 60);
COPY orders (id, shop_id, status) FROM stdin;
5	1	claimed
6	2	claimed
\.
COMMIT;
COPY orders (id, shop_id, status, fence_token) FROM stdin;
7	1	fine	70
4	1	stale	39
\.
SELECT id, status, fence_token FROM orders WHERE id > 3 ORDER BY id;

-- Foreign keys' actions write rows, too: each needs its own resource's claim.
SELECT pg_temp.outcome($$DELETE FROM shops WHERE id = 2$$);
BEGIN;
SELECT fence_check('way:shop:2', 2);
SELECT pg_temp.outcome_code($$DELETE FROM shops WHERE id = 2$$);
SELECT fence_check('way:3', 31);
SELECT pg_temp.outcome_code($$DELETE FROM shops WHERE id = 2$$);
SET LOCAL fencelock.claims = '{"way:6": 61}';
DELETE FROM shops WHERE id = 2;
COMMIT;
SELECT id FROM orders WHERE shop_id = 2;
SELECT fence_token('way:6');
SELECT pg_temp.outcome_code($$UPDATE shops SET id = 10, fence_token = 2 WHERE id = 1$$);
BEGIN;
SELECT fence_check('way:shop:1', 2), fence_check('way:shop:10', 1);
SELECT pg_temp.outcome_code($$UPDATE shops SET id = 10 WHERE id = 1$$);
SELECT count(*) FROM orders WHERE fence_check('way:' || id, 100 + id);
UPDATE shops SET id = 10 WHERE id = 1;
COMMIT;
SELECT id, shop_id, fence_token FROM orders ORDER BY id;

-- Updatable views, rules, WITH, functions, prepared statements, SELECT ... FOR UPDATE before.
CREATE VIEW order_states AS SELECT id, status, fence_token AS token FROM orders;
UPDATE order_states SET status = 'by the view', token = 200 WHERE id = 1;
SELECT pg_temp.outcome_code($$UPDATE order_states SET status = 'x' WHERE id = 1$$), pg_temp.outcome_code($$DELETE FROM order_states WHERE id = 1$$);
SELECT pg_temp.outcome_code($$INSERT INTO order_states VALUES (8, 'x')$$);
INSERT INTO order_states VALUES (8, 'by the view', 1);
CREATE RULE keep_old AS ON DELETE TO order_states DO INSTEAD UPDATE orders SET status = 'deleted' WHERE id = old.id;
SELECT pg_temp.outcome_code($$DELETE FROM order_states WHERE id = 8$$);
WITH gone AS (DELETE FROM orders WHERE id = 1 RETURNING *) SELECT count(*) FROM gone;
BEGIN;
SELECT fence_check('way:1', 201);
SELECT id FROM orders WHERE id = 1 FOR UPDATE;
WITH changed AS (UPDATE orders SET status = 'by WITH' WHERE id = 1 RETURNING id, fence_token) SELECT * FROM changed;
COMMIT;
PREPARE change (int, bigint) AS UPDATE orders SET status = 'prepared', fence_token = $2 WHERE id = $1 RETURNING fence_token;
EXECUTE change (1, 202);
EXECUTE change (1, 201);
EXECUTE change (1, 203);
CREATE FUNCTION write_order(int) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ UPDATE orders SET status = 'in a function' WHERE id = $1 $$;
SELECT pg_temp.outcome_code($$SELECT write_order(1)$$);
BEGIN;
SELECT fence_check('way:1', 204);
SELECT write_order(1);
COMMIT;
SELECT id, status, fence_token FROM orders WHERE id = 1;

-- An earlier trigger that suppresses the row: no write, no token.
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER a_suppress BEFORE UPDATE ON orders FOR EACH ROW WHEN (OLD.id = 8) EXECUTE FUNCTION suppress();
UPDATE orders SET status = 'x', fence_token = 999 WHERE id = 8;
SELECT fence_token('way:8');

-- Deferred triggers still find the transaction's claims when it commits.
CREATE FUNCTION write_later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE orders SET status = 'at commit' WHERE id = 1; RETURN NULL; END $$;
CREATE TABLE later (id int);
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON later DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_later();
INSERT INTO later VALUES (1);
BEGIN;
SELECT fence_check('way:1', 205);
INSERT INTO later VALUES (1);
COMMIT;
SELECT status, fence_token FROM orders WHERE id = 1;

-- A cursor's row, and many rows of one resource in one statement.
BEGIN;
SELECT fence_check('way:1', 206);
DECLARE one CURSOR FOR SELECT * FROM orders WHERE id = 1 FOR UPDATE;
MOVE one;
UPDATE orders SET status = 'where current of' WHERE CURRENT OF one;
COMMIT;
SELECT status, fence_token FROM orders WHERE id = 1;
CREATE TABLE lines (id int, fence_token bigint);
SELECT fence_attach('lines', 'way:lines');
INSERT INTO lines SELECT n, 1 FROM generate_series(1, 20000) AS n;
UPDATE lines SET id = -id, fence_token = 2;
SELECT count(*), min(fence_token), max(fence_token) FROM lines;
BEGIN;
SELECT fence_check('way:lines', 3);
UPDATE lines SET id = -id;
DELETE FROM lines WHERE id > 10;
COMMIT;
SELECT count(*), min(fence_token), max(fence_token) FROM lines;

DROP TABLE later, orders, shops, lines CASCADE;
DROP FUNCTION suppress(), write_later(), write_order(int);

-- UPDATE ... FROM and DELETE ... USING; identity columns; ON DELETE SET NULL and ON UPDATE CASCADE.
CREATE TABLE source (id int, status text);
INSERT INTO source VALUES (1, 'joined');
CREATE TABLE joined (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text);
SELECT fence_attach('joined', 'joined:{id}');
SELECT pg_temp.outcome_code('INSERT INTO joined (status) VALUES (''new'')');
INSERT INTO joined (id, status, fence_token) OVERRIDING SYSTEM VALUE VALUES (1, 'new', 5);
SELECT pg_temp.outcome_code('UPDATE joined j SET status = s.status FROM source s WHERE s.id = j.id'),
       pg_temp.outcome_code('UPDATE joined j SET status = s.status, fence_token = 4 FROM source s WHERE s.id = j.id'),
       pg_temp.outcome_code('UPDATE joined j SET status = s.status, fence_token = 6 FROM source s WHERE s.id = j.id'),
       pg_temp.outcome_code('DELETE FROM joined j USING source s WHERE s.id = j.id');
SELECT * FROM joined;
CREATE TABLE owner (id int PRIMARY KEY);
CREATE TABLE owned (id int PRIMARY KEY, owner int REFERENCES owner ON DELETE SET NULL ON UPDATE CASCADE);
SELECT fence_attach('owned', 'owned:{id}');
INSERT INTO owner VALUES (1);
INSERT INTO owned VALUES (1, 1, 5);
SELECT pg_temp.outcome_code('DELETE FROM owner'), pg_temp.outcome_code('UPDATE owner SET id = 2');
BEGIN;
SELECT fence_check('owned:1', 6);
UPDATE owner SET id = 2;
DELETE FROM owner;
COMMIT;
SELECT * FROM owned;
DROP TABLE source, joined, owned, owner;

-- Many rows of one resource, with one token.
CREATE TABLE many (id int, fence_token bigint);
SELECT fence_attach('many', 'many');
INSERT INTO many SELECT n, 5 FROM generate_series(1, 100000) n;
SELECT pg_temp.outcome_code('UPDATE many SET fence_token = 4');
UPDATE many SET id = -id, fence_token = 6;
SELECT count(*), min(fence_token), max(fence_token) FROM many;
DROP TABLE many;
