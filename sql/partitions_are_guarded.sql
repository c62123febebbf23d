-- A partitioned table is guarded through whatever door a row comes or moves: the parent, a partition, a new or attached one.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE measures (id int, region text NOT NULL, note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE measures_north PARTITION OF measures FOR VALUES IN ('north');
-- A partition with its columns in another order, and a dropped one.
CREATE TABLE measures_south (dropped int, note text, region text NOT NULL, fence_token bigint, id int NOT NULL);
ALTER TABLE measures_south DROP COLUMN dropped;
SELECT fence_attach('measures', 'part:{id}');
ALTER TABLE measures ATTACH PARTITION measures_south FOR VALUES IN ('south');
CREATE TABLE measures_rest PARTITION OF measures DEFAULT PARTITION BY LIST (region);
CREATE TABLE measures_east PARTITION OF measures_rest FOR VALUES IN ('east');

-- Through the parent and through the partitions.
SELECT pg_temp.outcome_code(format('INSERT INTO measures VALUES (1, %L)', region)) FROM unnest(ARRAY['north', 'south', 'east']) AS region;
SELECT pg_temp.outcome_code($$INSERT INTO measures_north VALUES (1, 'north')$$), pg_temp.outcome_code($$INSERT INTO measures_south (id, region) VALUES (1, 'south')$$),
    pg_temp.outcome_code($$INSERT INTO measures_east VALUES (1, 'east')$$);
INSERT INTO measures (id, region, note, fence_token) VALUES (1, 'north', 'new', 10), (2, 'south', 'new', 20), (3, 'east', 'new', 30);
SELECT pg_temp.outcome_code($$UPDATE measures SET note = 'x'$$), pg_temp.outcome_code($$UPDATE measures_south SET note = 'x'$$),
    pg_temp.outcome_code($$DELETE FROM measures WHERE id = 3$$), pg_temp.outcome_code($$DELETE FROM measures_east$$);
SELECT pg_temp.outcome($$UPDATE measures SET fence_token = 19 WHERE id = 2$$);
UPDATE measures_south SET fence_token = 21;
BEGIN;
SELECT fence_check('part:1', 11), fence_check('part:2', 22), fence_check('part:3', 33);
UPDATE measures SET note = 'claimed';
COMMIT;
SELECT tableoid::regclass, id, region, note, fence_token FROM measures ORDER BY id;

-- Moves between partitions: stamped, claimed, by the setting; stale and without a token.
UPDATE measures SET region = 'south', fence_token = 12 WHERE id = 1;
SELECT pg_temp.outcome_code($$UPDATE measures SET region = 'east' WHERE id = 1$$), pg_temp.outcome_code($$UPDATE measures SET region = 'east', fence_token = 11 WHERE id = 1$$);
BEGIN;
SELECT fence_check('part:2', 23);
UPDATE measures SET region = 'east' WHERE id = 2;
COMMIT;
BEGIN;
SET LOCAL fencelock.claims = '{"part:3": 34}';
UPDATE measures SET region = 'north' WHERE id = 3;
COMMIT;
SELECT tableoid::regclass, id, region, fence_token FROM measures ORDER BY id;
SELECT fence_token('part:1'), fence_token('part:2'), fence_token('part:3');

-- A move that changes the resource, too: the old one needs a claim.
SELECT pg_temp.outcome_code($$UPDATE measures SET id = 4, region = 'east', fence_token = 1 WHERE id = 3$$);
BEGIN;
SELECT fence_check('part:3', 35);
UPDATE measures SET id = 4, region = 'east', fence_token = 1 WHERE id = 3;
COMMIT;
SELECT tableoid::regclass, id, fence_token FROM measures WHERE id = 4;

-- TRUNCATE: of the parent, and of the partitions that there were when it was attached; attaching again covers new ones.
SELECT pg_temp.outcome_code($$TRUNCATE measures$$), pg_temp.outcome_code($$TRUNCATE measures_north$$);
SELECT fence_attach('measures', 'part:{id}');
SELECT pg_temp.outcome_code('TRUNCATE ' || t) FROM unnest(ARRAY['measures_south', 'measures_rest', 'measures_east']) AS t;

-- Guards are attached and detached at the top.
SELECT pg_temp.outcome($$SELECT fence_attach('measures_north', 'part:{id}')$$);
SELECT pg_temp.outcome($$SELECT fence_detach('measures_north')$$);
SELECT pg_temp.outcome_code($$DROP TRIGGER zz_fence_guard ON measures_north$$);
-- A partition that is detached keeps no guard, which is told, and can be guarded by itself.
ALTER TABLE measures DETACH PARTITION measures_north;
SELECT finding FROM fence_audit() WHERE target LIKE '%measures\_north';
INSERT INTO measures_north (id, region) VALUES (9, 'north');
SELECT fence_attach('measures_north', 'part:north:{id}');
SELECT pg_temp.outcome_code($$DELETE FROM measures_north$$);
SELECT fence_detach('measures');
SELECT count(*) FROM pg_trigger WHERE tgfoid = 'fence_guard'::regproc AND tgrelid <> 'measures_north'::regclass;
DELETE FROM measures;

-- mark=row and ties=reject, moved.
SELECT fence_attach('measures', 'part:own:{id}:{region}', 'fence_token', 'mark=row', 'ties=reject');
INSERT INTO measures (id, region, fence_token) VALUES (1, 'south', 10);
SELECT pg_temp.outcome_code($$UPDATE measures SET note = 'tie', fence_token = 10$$);
UPDATE measures SET note = 'higher', fence_token = 11;
SELECT pg_temp.outcome_code($$UPDATE measures SET region = 'east', fence_token = 12$$);
BEGIN;
SELECT fence_check('part:own:1:south', 11);
UPDATE measures SET region = 'east', fence_token = 12;
COMMIT;
SELECT tableoid::regclass, id, note, fence_token FROM measures;
SELECT fence_token('part:own:1:south'), fence_token('part:own:1:east');
DROP TABLE measures, measures_north;

-- So is one that is found by the search_path alone, or has partitions itself; not one that has a guard of its own, nor
-- what is detached from a table without guard.
CREATE SCHEMA regress_fencelock_detached;
SET search_path = regress_fencelock_detached, public;
\set VERBOSITY default
CREATE TABLE tree (id int, region text) PARTITION BY LIST (region);
SELECT fence_attach('tree', 'tree:{id}');
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN ('a') PARTITION BY LIST (id);
CREATE TABLE tree_1_1 PARTITION OF tree_1 FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN ('b');
CREATE TRIGGER own_guard BEFORE INSERT OR UPDATE OR DELETE ON tree_2 FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=own:{id}');
ALTER TABLE tree DETACH PARTITION tree_1;
ALTER TABLE tree DETACH PARTITION tree_2;
ALTER TABLE tree_1 DETACH PARTITION tree_1_1;
SELECT pg_temp.outcome_code('TRUNCATE tree_1_1');
SELECT fence_detach('tree_1_1'), fence_detach('tree_1');
TRUNCATE tree_1_1, tree_1;
SELECT finding FROM fence_audit() WHERE target LIKE '%tree\_%';
DROP TABLE tree, tree_1, tree_1_1, tree_2;
\set VERBOSITY sqlstate
RESET search_path;
DROP SCHEMA regress_fencelock_detached;

-- A child by inheritance has triggers of its own only; its parent's guard does not cover it. That is told.
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
\set VERBOSITY default
SELECT fence_attach('parent', 'part:{id}');
SELECT pg_temp.outcome_code($$INSERT INTO parent VALUES (5)$$), pg_temp.outcome_code($$INSERT INTO child VALUES (5)$$);
SELECT target, finding FROM fence_audit() WHERE target LIKE '%child' ORDER BY target COLLATE "C";
SELECT fence_attach('child', 'part:{id}');
SELECT target, finding FROM fence_audit() WHERE target LIKE '%child';
CREATE TABLE many_1 () INHERITS (parent); CREATE TABLE many_2 () INHERITS (parent); CREATE TABLE many_3 () INHERITS (parent);
CREATE TABLE many_4 () INHERITS (parent); CREATE TABLE many_5 () INHERITS (parent); CREATE TABLE many_6 () INHERITS (many_5);
SELECT fence_attach('parent', 'part:{id}');
ALTER TABLE many_1 NO INHERIT parent;
ALTER TABLE many_1 INHERIT parent;
ALTER TABLE many_1 ADD COLUMN other int;
-- However it comes to be: in CREATE SCHEMA, where names mean the new schema's tables first; behind a temporary table of the
-- same name; as a foreign table. What IF NOT EXISTS finds was there before, and inherits nothing by it.
CREATE SCHEMA regress_fencelock_born
    CREATE TABLE parent (id int)
    CREATE TABLE born_unrelated () INHERITS (parent)
    CREATE TABLE born_child () INHERITS (public.parent);
CREATE TEMP TABLE born_behind (id int);
CREATE TABLE public.born_behind () INHERITS (parent);
CREATE TEMP TABLE born_temporary () INHERITS (parent);
CREATE TABLE IF NOT EXISTS born_before (id int);
CREATE TABLE IF NOT EXISTS born_before () INHERITS (parent);
CREATE FOREIGN DATA WRAPPER regress_fencelock_wrapper;
CREATE SERVER regress_fencelock_server FOREIGN DATA WRAPPER regress_fencelock_wrapper;
CREATE FOREIGN TABLE born_foreign () INHERITS (parent) SERVER regress_fencelock_server;
ALTER FOREIGN TABLE born_foreign NO INHERIT parent;
ALTER FOREIGN TABLE born_foreign INHERIT parent;
\set VERBOSITY sqlstate
DROP FOREIGN DATA WRAPPER regress_fencelock_wrapper CASCADE;
DROP SCHEMA regress_fencelock_born CASCADE;
DROP TABLE pg_temp.born_behind, public.born_behind, born_temporary, born_before;
\set VERBOSITY default
DROP TABLE many_1, many_2, many_3, many_4, many_6, many_5, grandchild;
SELECT fence_attach('parent', 'part:{id}');
\set VERBOSITY sqlstate
SELECT pg_temp.outcome_code($$INSERT INTO child VALUES (5)$$), pg_temp.outcome_code($$UPDATE parent SET id = 6$$);
DROP TABLE child, parent;

-- TRUNCATE of partitions that were created or attached later, by whoever may truncate them.
CREATE TABLE later (id int, region text) PARTITION BY LIST (id);
SELECT fence_attach('later', 'later:{id}');
CREATE ROLE regress_fencelock_later;
CREATE TABLE later_1 PARTITION OF later FOR VALUES IN (1);
CREATE TABLE later_2 (id int, region text, fence_token bigint);
ALTER TABLE later ATTACH PARTITION later_2 FOR VALUES IN (2);
CREATE TABLE later_3 PARTITION OF later FOR VALUES IN (3) PARTITION BY LIST (region);
CREATE TABLE later_3_north PARTITION OF later_3 FOR VALUES IN ('north');
CREATE SCHEMA regress_fencelock_later
    CREATE TABLE later_4 PARTITION OF public.later FOR VALUES IN (4);
GRANT USAGE ON SCHEMA regress_fencelock_later TO regress_fencelock_later;
GRANT ALL ON later_1, later_2, later_3, later_3_north, regress_fencelock_later.later_4 TO regress_fencelock_later;
SET ROLE regress_fencelock_later;
SELECT pg_temp.outcome_code('TRUNCATE ' || name) FROM unnest(ARRAY['later_1', 'later_2', 'later_3', 'later_3_north', 'regress_fencelock_later.later_4']) AS name;
RESET ROLE;
SELECT fence_detach('later');
TRUNCATE later;
DROP TABLE later;
DROP SCHEMA regress_fencelock_later;
DROP ROLE regress_fencelock_later;
