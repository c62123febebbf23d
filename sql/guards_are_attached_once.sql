-- fence_attach creates what guards a table, once; fence_detach takes it off; nothing else takes it off unseen.
\set ECHO none
\i sql/include/outcome.psql
CREATE VIEW guard_triggers AS SELECT tgrelid::regclass AS target, tgname, tgtype, tgenabled, tgnargs FROM pg_trigger
    WHERE tgfoid = 'fence_guard'::regproc;

-- It adds the token column where it is missing, and two triggers: for rows and for TRUNCATE.
CREATE TABLE attached (id int PRIMARY KEY, note text);
INSERT INTO attached VALUES (1, 'from before');
SELECT fence_attach('attached', 'att:{id}');
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'attached'::regclass AND attnum > 0;
SELECT * FROM guard_triggers ORDER BY target::text, tgname;
SELECT pg_temp.outcome_code($$UPDATE attached SET note = 'x'$$);
UPDATE attached SET fence_token = 1;
SELECT pg_temp.outcome($$TRUNCATE attached$$);
SELECT pg_temp.outcome_code($$TRUNCATE attached CASCADE$$);
BEGIN;
SELECT fence_check('att:1', 2);
SELECT pg_temp.outcome_code($$TRUNCATE attached$$);
COMMIT;

-- Again: the very triggers stay. With other arguments: there is still one guard, the new one.
SELECT array_agg(oid ORDER BY oid) AS before FROM pg_trigger WHERE tgrelid = 'attached'::regclass \gset
SELECT fence_attach('attached', 'att:{id}');
SELECT array_agg(oid ORDER BY oid) = :'before' FROM pg_trigger WHERE tgrelid = 'attached'::regclass;
SELECT fence_attach('attached', 'att:other:{id}', 'fence_token', 'ties=reject');
SELECT target, tgname, tgtype, tgnargs FROM guard_triggers ORDER BY tgname;
UPDATE attached SET fence_token = 2;
SELECT fence_token('att:other:1'), fence_token('att:1');
SELECT fence_attach('attached', 'att:other:{id}', 'fence_token', VARIADIC ARRAY['unfenced=warn', 'ties=reject']);
SELECT fence_attach('attached', 'att:other:{id}', 'fence_token', VARIADIC ARRAY['ties=reject']);
SELECT count(*) FROM guard_triggers WHERE target = 'attached'::regclass;
-- A disabled guard is put back, a TRUNCATE trigger that is missing too.
ALTER TABLE attached DISABLE TRIGGER zz_fence_guard;
DROP TRIGGER zz_fence_guard_truncate ON attached;
SELECT fence_attach('attached', 'att:other:{id}', 'fence_token', VARIADIC ARRAY['ties=reject']);
SELECT tgname, tgenabled FROM guard_triggers WHERE target = 'attached'::regclass ORDER BY tgname;

-- It runs after the table's other BEFORE triggers, whatever their names; where it cannot, it says so.
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'by ' || TG_NAME; NEW.id := 7; RETURN NEW; END $$;
CREATE TABLE with_others (id int, note text);
CREATE TRIGGER zzz_note BEFORE INSERT ON with_others FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT fence_attach('with_others', 'att:w:{id}');
INSERT INTO with_others VALUES (1, '', 5);
SELECT * FROM with_others;
SELECT fence_token('att:w:7'), fence_token('att:w:1') IS NULL;
SELECT tgname FROM guard_triggers WHERE target = 'with_others'::regclass ORDER BY 1;
CREATE TRIGGER "~" BEFORE INSERT ON with_others FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT fence_attach('with_others', 'att:w:{id}');
SELECT tgname FROM guard_triggers WHERE target = 'with_others'::regclass ORDER BY tgname COLLATE "C";
CREATE TRIGGER "~~~~~~~~~" BEFORE INSERT ON with_others FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT pg_temp.outcome($$SELECT fence_attach('with_others', 'att:w:{id}')$$);
SELECT fence_detach('with_others');
SELECT count(*) FROM guard_triggers WHERE target = 'with_others'::regclass;

-- Odd names of tables, schemas, columns and templates.
CREATE SCHEMA "Odd ""schema""";
CREATE TABLE "Odd ""schema"""."Odd 'table'" ("Id 1" int, "To""ken" bigint);
SELECT fence_attach('"Odd ""schema"""."Odd ''table''"', E'att:''"\\\n{Id 1}', 'To"ken');
SELECT fence_attach('"Odd ""schema"""."Odd ''table''"', E'att:''"\\\n{Id 1}', 'To"ken');
INSERT INTO "Odd ""schema"""."Odd 'table'" VALUES (1, 9);
SELECT fence_token(E'att:''"\\\n1');
SELECT pg_temp.outcome($$DELETE FROM "Odd ""schema"""."Odd 'table'"$$);
SELECT count(*) FROM guard_triggers WHERE target = '"Odd ""schema"""."Odd ''table''"'::regclass;
SELECT fence_detach('"Odd ""schema"""."Odd ''table''"');
DELETE FROM "Odd ""schema"""."Odd 'table'";

-- Detached, a table is like any other; detaching again does nothing; the column stays.
SELECT fence_detach('attached');
SELECT fence_detach('attached');
UPDATE attached SET note = 'free';
SELECT * FROM attached;
TRUNCATE attached;

-- A hand-made trigger does as well, and keeps its arguments; fence_detach takes it off too.
CREATE TRIGGER my_guard BEFORE INSERT OR UPDATE OR DELETE ON attached FOR EACH ROW
    EXECUTE FUNCTION fence_guard('resource=att:mine:{id}', 'token=fence_token', 'mark=resource', 'ties=accept', 'require=any', 'unfenced=reject');
SELECT pg_temp.outcome_code($$INSERT INTO attached VALUES (1)$$);
INSERT INTO attached VALUES (1, 'x', 1);
SELECT fence_token('att:mine:1');
SELECT fence_detach('attached');
SELECT count(*) FROM guard_triggers WHERE target = 'attached'::regclass;

-- The arguments may change within a session, and the table under them.
SELECT fence_attach('attached', 'att:a:{id}');
INSERT INTO attached VALUES (2, 'a', 3);
SELECT fence_attach('attached', 'att:b:{id}');
INSERT INTO attached VALUES (3, 'b', 3);
SELECT fence_token('att:a:2'), fence_token('att:b:3');
BEGIN;
SELECT fence_attach('attached', 'att:c:{id}');
INSERT INTO attached VALUES (4, 'c', 3);
ROLLBACK;
INSERT INTO attached VALUES (4, 'b again', 3);
SELECT fence_token('att:c:4') IS NULL, fence_token('att:b:4');
ALTER TABLE attached ADD COLUMN before_all int, DROP COLUMN note;
INSERT INTO attached (id, fence_token) VALUES (5, 3);
ALTER TABLE attached ALTER COLUMN id TYPE text;
INSERT INTO attached (id, fence_token) VALUES ('six', 3);
SELECT fence_token('att:b:5'), fence_token('att:b:six');

-- The extension cannot be dropped under its guards.
SELECT pg_temp.outcome_code($$DROP EXTENSION fencelock$$);
SELECT pg_temp.outcome_code($$DROP FUNCTION fence_guard$$);
SELECT pg_temp.outcome_code($$ALTER EXTENSION fencelock SET SCHEMA "Odd ""schema"""$$);

DROP VIEW guard_triggers;
DROP TABLE attached, with_others;
DROP FUNCTION note_it();
DROP TABLE "Odd ""schema"""."Odd 'table'";
DROP SCHEMA "Odd ""schema""";

-- One that was crippled is not the same: a condition, a column list, a replica's guard, a disabled TRUNCATE trigger.
CREATE TABLE crippled (id int PRIMARY KEY, fence_token bigint);
SELECT fence_attach('crippled', 'cri:{id}');
DROP TRIGGER zz_fence_guard ON crippled;
CREATE TRIGGER zz_fence_guard BEFORE INSERT OR UPDATE OR DELETE ON crippled FOR EACH ROW
    WHEN (pg_trigger_depth() = 99) EXECUTE FUNCTION fence_guard('resource=cri:{id}', 'token=fence_token');
ALTER TABLE crippled DISABLE TRIGGER zz_fence_guard_truncate;
SELECT fence_attach('crippled', 'cri:{id}');
SELECT pg_temp.outcome_code('INSERT INTO crippled VALUES (1)'), pg_temp.outcome_code('TRUNCATE crippled');
DROP TRIGGER zz_fence_guard ON crippled;
CREATE TRIGGER zz_fence_guard BEFORE INSERT OR UPDATE OF fence_token OR DELETE ON crippled FOR EACH ROW
    EXECUTE FUNCTION fence_guard('resource=cri:{id}', 'token=fence_token');
SELECT fence_attach('crippled', 'cri:{id}');
INSERT INTO crippled VALUES (1, 1);
SELECT pg_temp.outcome_code('UPDATE crippled SET id = 2');
ALTER TABLE crippled ENABLE REPLICA TRIGGER zz_fence_guard;
SELECT fence_attach('crippled', 'cri:{id}');
SELECT pg_temp.outcome_code('UPDATE crippled SET id = 2');
DROP TABLE crippled;

-- An option in the place of the token column; a table of fencelock's own.
CREATE TABLE misplaced (id int PRIMARY KEY);
SELECT pg_temp.outcome($$SELECT fence_attach('misplaced', 'mis:{id}', 'mark=row')$$);
SELECT count(*) FROM pg_attribute WHERE attrelid = 'misplaced'::regclass AND attnum > 0;
SELECT pg_temp.outcome_code($$SELECT fence_attach('fence_resource', 'x:{resource}')$$);
DROP TABLE misplaced;
