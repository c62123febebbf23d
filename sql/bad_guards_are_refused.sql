-- A guard that cannot guard is refused when it is attached, or, where plain DDL made it, at its first firing: it fails closed.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE target (id int, note text, fence_token bigint, small int, doubled int GENERATED ALWAYS AS (id * 2) STORED);

SELECT pg_temp.outcome(format('SELECT fence_attach(''target'', ''bad:{id}'', ''fence_token'', %L)', option))
    FROM unnest(ARRAY['nonsense', 'nonsense=1', 'mark=table', 'mark=', 'ties=maybe', 'require=stamp', 'unfenced=ignore', 'Mark=row', 'mark =row',
                      'resource=other', 'token=note', '']) AS option;
SELECT pg_temp.outcome_code($$SELECT fence_attach('target', 'bad:{id}', 'fence_token', 'mark=resource', 'mark=resource')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('target', 'bad:{id}', 'fence_token', NULL)$$);

-- Templates.
SELECT pg_temp.outcome(format('SELECT fence_attach(''target'', %L)', template))
    FROM unnest(ARRAY['', 'bad:{id', 'bad:id}', 'bad:{}', 'bad:{{id}', '}', 'bad:{id}}']) AS template;
SELECT pg_temp.outcome(format('SELECT fence_attach(''target'', %L)', template))
    FROM unnest(ARRAY['bad:{none}', 'bad:{ID}', 'bad:{ id }', 'bad:{ctid}', 'bad:{tableoid}', 'bad:{doubled}']) AS template;

-- Token columns.
SELECT pg_temp.outcome($$SELECT fence_attach('target', 'bad:{id}', 'small')$$);
SELECT pg_temp.outcome_code($$SELECT fence_attach('target', 'bad:{id}', 'note')$$), pg_temp.outcome_code($$SELECT fence_attach('target', 'bad:{id}', 'doubled')$$);
CREATE TABLE generated_token (id int, fence_token bigint GENERATED ALWAYS AS (id) STORED);
SELECT pg_temp.outcome($$SELECT fence_attach('generated_token', 'bad:{id}')$$);

-- What is no table of this database.
CREATE VIEW a_view AS SELECT id, fence_token FROM target;
CREATE MATERIALIZED VIEW a_materialized_view AS SELECT id, fence_token FROM target;
CREATE SEQUENCE a_sequence;
CREATE FOREIGN DATA WRAPPER no_wrapper;
CREATE SERVER no_server FOREIGN DATA WRAPPER no_wrapper;
CREATE FOREIGN TABLE a_foreign_table (id int, fence_token bigint) SERVER no_server;
SELECT pg_temp.outcome(format('SELECT fence_attach(%L, ''bad:{id}'')', relation))
    FROM unnest(ARRAY['a_view', 'a_materialized_view', 'a_sequence', 'a_foreign_table']) AS relation;
-- Nothing was left behind by any of these.
SELECT count(*) FROM pg_trigger WHERE tgfoid = 'fence_guard'::regproc;

-- The same by plain DDL: CREATE TRIGGER calls nothing, the first firing does.
CREATE FUNCTION try_trigger(definition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE TRIGGER t ' || definition;
    RETURN pg_temp.outcome('INSERT INTO target (id, fence_token) VALUES (1, 5)');
END
$$;
BEGIN;
SAVEPOINT one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard()$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('bad:{id}')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{nobody}')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}', 'token=missing')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}', 'token=')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}', 'resource=bad:{id}')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}', 'ties=reject')$$);
ROLLBACK TO one;
-- As a trigger of another kind.
SELECT try_trigger($$AFTER INSERT ON target FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}')$$);
ROLLBACK TO one;
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH STATEMENT EXECUTE FUNCTION fence_guard('resource=bad:{id}')$$);
ROLLBACK TO one;
SELECT try_trigger($$AFTER INSERT ON target FOR EACH STATEMENT EXECUTE FUNCTION fence_guard('resource=bad:{id}')$$);
ROLLBACK TO one;
CREATE TRIGGER t INSTEAD OF INSERT ON a_view FOR EACH ROW EXECUTE FUNCTION fence_guard('resource=bad:{id}');
SELECT pg_temp.outcome_code('INSERT INTO a_view VALUES (1, 5)');
ROLLBACK TO one;
CREATE TRIGGER t AFTER TRUNCATE ON target FOR EACH STATEMENT EXECUTE FUNCTION fence_guard();
SELECT pg_temp.outcome_code('TRUNCATE target');
ROLLBACK TO one;
-- A guard on some columns or under a condition is what its owner made it; the arguments are checked all the same.
SELECT try_trigger($$BEFORE INSERT ON target FOR EACH ROW WHEN (NEW.id > 1) EXECUTE FUNCTION fence_guard('nonsense')$$);
ROLLBACK;
SELECT pg_temp.outcome_code('SELECT fence_guard()');
SELECT count(*) FROM fence_resource WHERE resource LIKE 'bad:%';

DROP VIEW a_view;
DROP MATERIALIZED VIEW a_materialized_view;
-- Columns that are renamed or dropped under a guard: nothing is written until it is attached anew.
SELECT fence_attach('target', 'bad:{id}:{note}');
INSERT INTO target (id, note, fence_token) VALUES (1, 'x', 1);
ALTER TABLE target RENAME COLUMN note TO remark;
SELECT pg_temp.outcome($$INSERT INTO target (id, remark, fence_token) VALUES (1, 'x', 2)$$);
SELECT pg_temp.outcome_code($$UPDATE target SET fence_token = 2$$), pg_temp.outcome_code($$DELETE FROM target$$);
BEGIN;
SELECT fence_check('bad:1:x', 2);
SELECT pg_temp.outcome_code($$UPDATE target SET remark = 'y'$$), pg_temp.outcome_code($$DELETE FROM target$$);
COMMIT;
SELECT fence_attach('target', 'bad:{id}:{remark}');
UPDATE target SET fence_token = 2;
ALTER TABLE target RENAME COLUMN fence_token TO token;
SELECT pg_temp.outcome($$UPDATE target SET token = 3$$);
ALTER TABLE target RENAME COLUMN token TO fence_token;
UPDATE target SET fence_token = 3;
ALTER TABLE target DROP COLUMN remark;
SELECT pg_temp.outcome_code($$UPDATE target SET fence_token = 4$$);
SELECT fence_attach('target', 'bad:{id}');
ALTER TABLE target ALTER COLUMN fence_token TYPE int;
SELECT pg_temp.outcome($$UPDATE target SET fence_token = 4$$);
ALTER TABLE target ALTER COLUMN fence_token TYPE bigint;
ALTER TABLE target DROP COLUMN fence_token;
SELECT pg_temp.outcome_code($$UPDATE target SET small = 4$$), pg_temp.outcome_code($$DELETE FROM target$$);
SELECT fence_attach('target', 'bad:{id}', NULL);
SELECT pg_temp.outcome_code($$UPDATE target SET small = 4$$);
CREATE TABLE self (id bigint PRIMARY KEY);
SELECT pg_temp.outcome($$SELECT fence_attach('self', 'bad:{id}', 'id')$$);
DROP TABLE self;
SELECT count(*) FROM target;

DROP FUNCTION try_trigger(text);
DROP SEQUENCE a_sequence;
DROP FOREIGN DATA WRAPPER no_wrapper CASCADE;
DROP TABLE target, generated_token;
