-- fence_attach with another place of the marks carries them over: no token passes afterwards that was stale before.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE carried (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row');
INSERT INTO carried VALUES (1, 'stamped', 10), (2, 'claimed higher', 20), (3, 'as inserted', 30);
UPDATE carried SET fence_token = 100 WHERE id = 1;
SELECT fence_check('carry:2', 200);

-- From rows to resources: a mark rises to the highest token of its rows; a higher one stays.
SELECT fence_attach('carried', 'carry:{id}');
SELECT resource, mark FROM fence_resource WHERE resource LIKE 'carry:%' ORDER BY 1;
SELECT pg_temp.outcome($$UPDATE carried SET fence_token = 50 WHERE id = 1$$);
SELECT pg_temp.outcome($$SELECT fence_check('carry:1', 99)$$);
SELECT pg_temp.outcome_code($$UPDATE carried SET fence_token = 199 WHERE id = 2$$);
UPDATE carried SET note = 'the same', fence_token = 100 WHERE id = 1;

-- And back: a row's token rises to the mark of its resource, as a claim that wrote nothing has left it; the guard is off
-- meanwhile, triggers of the table's own run.
CREATE FUNCTION note_carrying() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := NEW.note || ', carried'; RETURN NEW; END $$;
CREATE TRIGGER note_carrying BEFORE UPDATE ON carried FOR EACH ROW EXECUTE FUNCTION note_carrying();
SELECT fence_check('carry:3', 300);
SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row');
SELECT * FROM carried ORDER BY id;
SELECT pg_temp.outcome_code($$UPDATE carried SET fence_token = 299 WHERE id = 3$$);
DROP TRIGGER note_carrying ON carried;

-- Attached again with the same place, nothing is written.
SELECT fence_check('carry:3', 400);
SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row', 'ties=reject');
SELECT fence_token FROM carried WHERE id = 3;

-- What was issued, retired or pruned does not matter: what a row has been written with counts. A floor stays above it.
SELECT fence_issue('carry:1', 10) AS first \gset
SELECT fence_issue('carry:1', 10) > :first;
UPDATE carried SET fence_token = :first + 1 WHERE id = 1; -- retired
UPDATE carried SET fence_token = :first + 1000 WHERE id = 2; -- never issued
SELECT fence_issue('carry:2') > 0;
SELECT fence_attach('carried', 'carry:{id}');
SELECT fence_token('carry:1') - :first, fence_token('carry:2') - :first;
SELECT fence_issue('carry:2') - :first;

-- Rows without a token have nothing to carry. What has no name is told, and nothing has changed.
CREATE TABLE nameless (code text UNIQUE, fence_token bigint);
SELECT fence_attach('nameless', 'nameless:{code}', 'fence_token', 'mark=row');
ALTER TABLE nameless DISABLE TRIGGER USER;
INSERT INTO nameless VALUES (NULL, NULL), ('a', 7), ('b', 0), ('c', -3);
ALTER TABLE nameless ENABLE TRIGGER USER;
SELECT fence_attach('nameless', 'nameless:{code}');
SELECT resource, mark FROM fence_resource WHERE resource LIKE 'nameless:%' ORDER BY 1;
SELECT pg_temp.outcome($$SELECT fence_attach('nameless', 'nameless:{code}', 'fence_token', 'mark=row')$$);
ALTER TABLE nameless DISABLE TRIGGER USER;
DELETE FROM nameless WHERE code IS NULL;
SELECT fence_attach('nameless', 'nameless:{code}', 'fence_token', 'mark=row');
ALTER TABLE nameless DISABLE TRIGGER USER;
INSERT INTO nameless VALUES (NULL, 8), (repeat('x', 1020), 9);
ALTER TABLE nameless ENABLE TRIGGER USER;
SELECT pg_temp.outcome($$SELECT fence_attach('nameless', 'nameless:{code}')$$);
SELECT mark FROM fence_attachment WHERE target = 'nameless'::regclass;
SELECT pg_temp.outcome_code($$DELETE FROM nameless WHERE code IS NULL$$);
ALTER TABLE nameless DISABLE TRIGGER USER;
DELETE FROM nameless WHERE code IS NULL;
ALTER TABLE nameless ENABLE TRIGGER USER;
SELECT pg_temp.outcome($$SELECT fence_attach('nameless', 'nameless:{code}')$$);

-- Without a token column, or with another one, the marks do not stay behind.
CREATE TABLE moved (id int PRIMARY KEY, fence_token bigint);
SELECT fence_attach('moved', 'moved:{id}', 'fence_token', 'mark=row');
INSERT INTO moved VALUES (1, 10), (2, 20);
SELECT fence_attach('moved', 'moved:{id}', 'other_token', 'mark=row');
SELECT * FROM moved ORDER BY id;
UPDATE moved SET other_token = 11 WHERE id = 1;
SELECT fence_attach('moved', 'moved:{id}', NULL);
SELECT fence_token('moved:1'), fence_token('moved:2');
SELECT fence_check('moved:1', 12);
SELECT fence_attach('moved', 'moved:{id}', 'third_token', 'mark=row');
SELECT * FROM moved ORDER BY id;

-- A column that was renamed has its marks still; one that is gone cannot give them.
ALTER TABLE moved RENAME third_token TO renamed_token;
SELECT pg_temp.outcome($$SELECT fence_attach('moved', 'moved:{id}', NULL)$$);
SELECT fence_attach('moved', 'moved:{id}', 'renamed_token', 'mark=row');
UPDATE moved SET renamed_token = 13 WHERE id = 1;
SELECT fence_attach('moved', 'moved:{id}', NULL);
SELECT fence_token('moved:1');
ALTER TABLE moved RENAME id TO number;
SELECT pg_temp.outcome($$SELECT fence_attach('moved', 'moved:{number}', 'renamed_token', 'mark=row')$$);
SELECT fence_attach('moved', 'moved:{number}', 'renamed_token');
SELECT fence_attach('moved', 'moved:{number}', 'renamed_token', 'mark=row');

-- Another template names other resources: rows take their tokens along to them.
SELECT fence_attach('moved', 'moved:again:{number}', 'renamed_token');
SELECT fence_token('moved:again:1'), fence_token('moved:again:2');

-- Partitions, also one that was guarded by itself, with other columns in another order.
CREATE TABLE wide (id int, region text, fence_token bigint, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE wide_north PARTITION OF wide FOR VALUES IN ('north');
SELECT fence_attach('wide', 'wide:{region}:{id}', 'fence_token', 'mark=row');
CREATE TABLE wide_south (dropped int, fence_token bigint, region text NOT NULL, id int NOT NULL, PRIMARY KEY (id, region));
ALTER TABLE wide_south DROP COLUMN dropped;
CREATE TRIGGER own_guard BEFORE INSERT OR UPDATE OR DELETE ON wide_south FOR EACH ROW
    EXECUTE FUNCTION fence_guard('resource=wide:own:{region}:{id}', 'token=fence_token', 'mark=row');
INSERT INTO wide_south (id, region, fence_token) VALUES (1, 'south', 5);
UPDATE wide_south SET fence_token = 70;
ALTER TABLE wide ATTACH PARTITION wide_south FOR VALUES IN ('south');
INSERT INTO wide VALUES (1, 'north', 5);
UPDATE wide SET fence_token = 60 WHERE region = 'north';
SELECT fence_attach('wide', 'wide:{region}:{id}');
SELECT resource, mark FROM fence_resource WHERE resource LIKE 'wide:%' ORDER BY 1;
SELECT fence_check('wide:south:1', 71);
SELECT fence_attach('wide', 'wide:{region}:{id}', 'fence_token', 'mark=row');
SELECT tableoid::regclass, fence_token FROM wide ORDER BY 1;

-- A claim that the transaction itself has made with a lower token would go on unseen: it is stale.
SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row');
INSERT INTO carried VALUES (4, 'new', 5);
UPDATE carried SET fence_token = 40 WHERE id = 4;
BEGIN;
SELECT fence_check('carry:4', 6);
SELECT pg_temp.outcome($$SELECT fence_attach('carried', 'carry:{id}')$$);
SELECT fence_check('carry:4', 41);
SELECT fence_attach('carried', 'carry:{id}');
UPDATE carried SET note = 'claimed with 41' WHERE id = 4;
COMMIT;

-- Where the rows cannot all be read or written, it is refused.
SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.outcome($$SELECT fence_attach('carried', 'carry:{id}')$$);
COMMIT;
SELECT fence_attach('carried', 'carry:{id}');
SELECT fence_check('carry:4', 42);
CREATE FUNCTION keep_token() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fence_token := OLD.fence_token; RETURN NEW; END $$;
CREATE TRIGGER keep_token BEFORE UPDATE ON carried FOR EACH ROW EXECUTE FUNCTION keep_token();
SELECT pg_temp.outcome($$SELECT fence_attach('carried', 'carry:{id}', 'fence_token', 'mark=row')$$);
SELECT mark FROM fence_attachment WHERE target = 'carried'::regclass;
DROP TRIGGER keep_token ON carried;

-- A role that owns a table and may guard tables: policies do not hide rows from it, or it is told.
CREATE ROLE regress_fencelock_owner;
SELECT fence_grant_guards('regress_fencelock_owner');
GRANT CREATE ON SCHEMA public TO regress_fencelock_owner;
SET ROLE regress_fencelock_owner;
CREATE TABLE hidden (id int PRIMARY KEY, fence_token bigint);
SELECT fence_attach('hidden', 'hidden:{id}', 'fence_token', 'mark=row');
INSERT INTO hidden VALUES (1, 10);
UPDATE hidden SET fence_token = 20;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM hidden;
SELECT pg_temp.outcome_code($$SELECT fence_attach('hidden', 'hidden:{id}')$$);
ALTER TABLE hidden NO FORCE ROW LEVEL SECURITY;
SELECT fence_attach('hidden', 'hidden:{id}');
SELECT fence_token('hidden:1');
SELECT pg_temp.outcome_code($$SELECT fence_check('hidden:1', 21)$$), pg_temp.outcome_code($$SELECT fence_issue('hidden:1')$$);
SELECT fence_attach('hidden', 'hidden:{id}', 'fence_token', 'mark=row');
SELECT fence_detach('hidden');
DROP TABLE hidden;
RESET ROLE;
DROP OWNED BY regress_fencelock_owner;
DROP ROLE regress_fencelock_owner;

-- Nobody else's triggers run with the rights of whoever attaches.
CREATE ROLE regress_fencelock_owner;
CREATE TABLE others (id int PRIMARY KEY, fence_token bigint);
ALTER TABLE others OWNER TO regress_fencelock_owner;
SELECT fence_attach('others', 'others:{id}');
INSERT INTO others VALUES (1, 10);
SELECT fence_check('others:1', 11);
SELECT pg_temp.outcome($$SELECT fence_attach('others', 'others:{id}', 'fence_token', 'mark=row')$$);
SELECT mark FROM fence_attachment WHERE target = 'others'::regclass;
DROP TABLE others;
DROP ROLE regress_fencelock_owner;

-- A new column does not take the place of one that has the marks.
CREATE TABLE renamed (id int PRIMARY KEY, fence_token bigint);
SELECT fence_attach('renamed', 'renamed:{id}', 'fence_token', 'mark=row');
INSERT INTO renamed VALUES (1, 2);
ALTER TABLE renamed RENAME fence_token TO lock_token;
SELECT pg_temp.outcome($$SELECT fence_attach('renamed', 'renamed:{id}', 'fence_token', 'mark=row')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('renamed', 'renamed:{id}')$$),
       pg_temp.outcome_code($$SELECT fence_attach('renamed', 'renamed:{id}', 'another', 'mark=row')$$),
       pg_temp.outcome_code($$SELECT fence_attach('renamed', 'renamed:{id}', NULL)$$);
SELECT fence_attach('renamed', 'renamed:{id}', 'lock_token', 'mark=row');
SELECT pg_temp.outcome_code('UPDATE renamed SET lock_token = 1');
ALTER TABLE renamed DROP lock_token;
SELECT pg_temp.outcome_code($$SELECT fence_attach('renamed', 'renamed:{id}', 'lock_token', 'mark=row')$$);
SELECT fence_detach('renamed');
SELECT fence_attach('renamed', 'renamed:{id}');

-- Another template names other resources, which may have marks already: with mark=row the rows take these over.
CREATE TABLE renames (id int PRIMARY KEY, fence_token bigint);
INSERT INTO renames VALUES (1), (2);
SELECT fence_attach('renames', 'first:{id}');
UPDATE renames SET fence_token = 10 WHERE id = 1;
SELECT fence_attach('renames', 'second:{id}');
UPDATE renames SET fence_token = 2;
SELECT fence_attach('renames', 'first:{id}', 'fence_token', 'mark=row');
SELECT id, fence_token FROM renames ORDER BY id;
SELECT pg_temp.outcome_code('UPDATE renames SET fence_token = 9 WHERE id = 1');
SELECT fence_check('third:1', 20);
SELECT fence_attach('renames', 'third:{id}', 'fence_token', 'mark=row');
SELECT pg_temp.outcome_code('UPDATE renames SET fence_token = 19 WHERE id = 1');
ALTER TABLE renames RENAME fence_token TO token;
SELECT fence_check('fourth:1', 30);
SELECT fence_attach('renames', 'fourth:{id}', 'token', 'mark=row');
SELECT id, token FROM renames ORDER BY id;

-- A guard that comes back to names of former marks finds them, whatever was attached in between.
CREATE TABLE typo (id int PRIMARY KEY, fence_token bigint);
INSERT INTO typo VALUES (1, 10);
SELECT fence_attach('typo', 'typo:{id}', 'fence_token', 'mark=row');
UPDATE typo SET fence_token = 1000;
SELECT fence_attach('typo', 'tpyo:{id}');
SELECT fence_attach('typo', 'typo:{id}');
SELECT pg_temp.outcome_code('UPDATE typo SET fence_token = 500');
SELECT fence_attach('typo', 'typo:{id}', 'fence_token', 'mark=row');
SELECT fence_attach('typo', 'tpyo:{id}', 'fence_token', 'mark=row');
UPDATE typo SET fence_token = 2000;
SELECT fence_attach('typo', 'typoo:{id}', 'fence_token', 'mark=row');
SELECT fence_attach('typo', 'typoo:{id}');
SELECT fence_attach('typo', 'tpyo:{id}');
SELECT pg_temp.outcome_code('UPDATE typo SET fence_token = 1999');
SELECT fence_attach('typo', 'typo:{id}', 'fence_token', 'mark=row');
ALTER TABLE typo RENAME id TO number;
SELECT pg_temp.outcome($$SELECT fence_attach('typo', 'other:{number}')$$);
SELECT fence_attach('typo', 'typo:{number}', 'fence_token', 'mark=row');
ALTER TABLE typo RENAME number TO id;
SELECT fence_attach('typo', 'typo:{id}');
SELECT resource, mark FROM fence_resource WHERE resource ~ '^(typo|tpyo|typoo):' ORDER BY 1;

-- A column of the same shape need not be the one that was renamed.
CREATE TABLE shaped (id int PRIMARY KEY, code int UNIQUE, fence_token bigint);
INSERT INTO shaped VALUES (1, 7, 10);
SELECT fence_attach('shaped', 'shaped:{id}', 'fence_token', 'mark=row');
SELECT fence_check('shaped:7', 50);
ALTER TABLE shaped RENAME id TO number;
SELECT fence_attach('shaped', 'shaped:{code}', 'fence_token', 'mark=row');
SELECT pg_temp.outcome_code('UPDATE shaped SET fence_token = 40');

-- A guard that is new to the table finds marks that claims, or a guard that was detached, have left.
CREATE TABLE claimed (id int PRIMARY KEY);
INSERT INTO claimed VALUES (1), (2), (3);
SELECT fence_check('claimed:1', 40);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.outcome($$SELECT fence_attach('claimed', 'claimed:{id}', 'fence_token', 'mark=row')$$);
ROLLBACK;
SELECT fence_attach('claimed', 'claimed:{id}', 'fence_token', 'mark=row');
SELECT * FROM claimed ORDER BY id;
SELECT fence_attach('claimed', 'claimed:{id}');
SELECT fence_check('claimed:2', 50);
SELECT fence_detach('claimed');
SELECT fence_attach('claimed', 'claimed:{id}', 'fence_token', 'mark=row');
SELECT pg_temp.outcome_code('UPDATE claimed SET fence_token = 49 WHERE id = 2');
-- A floor is nobody's mark.
SELECT fence_issue('pruned') > 0;
BEGIN;
SELECT fence_prune('0') > 0, fence_token('claimed:3') > 0;
SELECT fence_detach('claimed');
SELECT fence_attach('claimed', 'claimed:{id}', 'fence_token', 'mark=row');
SELECT * FROM claimed ORDER BY id;
ROLLBACK;
CREATE TABLE claimed_parts (id int PRIMARY KEY, fence_token bigint) PARTITION BY LIST (id);
CREATE TABLE claimed_part PARTITION OF claimed_parts DEFAULT;
INSERT INTO claimed_parts VALUES (1);
SELECT fence_check('claimed part:1', 60);
SELECT fence_attach('claimed_parts', 'claimed part:{id}', 'fence_token', 'mark=row');
SELECT * FROM claimed_parts;

-- Inheritance children keep their own marks.
CREATE TABLE of_parent (id int PRIMARY KEY, fence_token bigint);
SELECT fence_attach('of_parent', 'of_parent:{id}', 'fence_token', 'mark=row');
CREATE TABLE of_child () INHERITS (of_parent);
INSERT INTO of_parent VALUES (1, 10);
INSERT INTO of_child VALUES (1, 1000);
SELECT fence_attach('of_child', 'of_child:{id}');
SELECT fence_attach('of_parent', 'of_parent:{id}');
SELECT fence_token('of_parent:1'), fence_token('of_child:1') IS NULL;

-- Odd names, and a column that has the name of what the rows are called in it.
CREATE TABLE "Odd ""name""" ("guarded" int PRIMARY KEY, "To""ken" bigint);
SELECT fence_attach('"Odd ""name"""', E'odd''"\\{guarded}', 'To"ken', 'mark=row');
INSERT INTO "Odd ""name""" VALUES (1, 10);
UPDATE "Odd ""name""" SET "To""ken" = 11;
SELECT fence_attach('"Odd ""name"""', E'odd''"\\{guarded}', 'To"ken');
SELECT fence_token(E'odd''"\\1');
SELECT fence_attach('"Odd ""name"""', E'odd''"\\{guarded}', 'To"ken', 'mark=row');

DROP TABLE carried, nameless, moved, wide, renamed, renames, typo, shaped, claimed, claimed_parts, of_child, of_parent, "Odd ""name""";
DROP FUNCTION note_carrying(), keep_token();
