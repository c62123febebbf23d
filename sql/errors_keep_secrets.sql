-- fence_grant gives what an application needs, and no more; and an error names a resource, or a column's value, only to a
-- role that may read what the name is made of.
\set ECHO none
\i sql/include/outcome.psql
CREATE ROLE regress_fencelock_app;
CREATE ROLE regress_fencelock_none;
CREATE TABLE patients (id int PRIMARY KEY, secret text NOT NULL, status text, fence_token bigint);
SELECT fence_attach('patients', 'sec:{secret}');
INSERT INTO patients VALUES (1, 'diagnosis', 'new', 10);
SELECT fence_issue('sec:issued') AS first \gset

-- Without fence_grant nothing can be called.
SET ROLE regress_fencelock_none;
SELECT pg_temp.outcome_code(statement) || ' ' || statement FROM unnest(ARRAY[
    'SELECT fence_check(''sec:0'', 1)', 'SELECT fence_try(''sec:0'', 1)', 'SELECT fence_token(''sec:0'')', 'SELECT fence_issue(''sec:0'')',
    'SELECT fence_acquire(''sec:0'', ''o'', ''1 s'')', 'SELECT fence_renew(''sec:0'', ''o'', 1, ''1 s'')', 'SELECT fence_release(''sec:0'', ''o'', 1)',
    'SELECT fence_history()', 'SELECT fence_attach(''patients'', ''x'')', 'SELECT fence_detach(''patients'')', 'SELECT fence_grant(''regress_fencelock_none'')',
    'SELECT * FROM fence_resource', 'SELECT * FROM fence_issuer',
    'CREATE TEMP TABLE t (id int); CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fence_guard(''resource=x'')']) AS statement;
RESET ROLE;

-- With it: present, issue, lease; but neither the tables nor the guards.
SELECT fence_grant('regress_fencelock_app');
SELECT fence_grant('regress_fencelock_app');
SET ROLE regress_fencelock_app;
SELECT fence_check('sec:1', 5), fence_try('sec:1', 5), fence_token('sec:1'), fence_issue('sec:2') > 0, fence_acquire('sec:3', 'o', '1 hour') > 0,
    fence_renew('sec:3', 'o', 1, '1 s') IS NOT NULL, fence_release('sec:3', 'o', 1) IS NOT NULL, fence_history() IS NOT NULL;
SELECT pg_temp.outcome_code(statement) || ' ' || statement FROM unnest(ARRAY[
    'SELECT * FROM fence_resource', 'UPDATE fence_resource SET mark = 1', 'DELETE FROM fence_resource', 'INSERT INTO fence_resource VALUES (''x'', 1, NULL, now())',
    'TRUNCATE fence_resource', 'LOCK fence_resource IN ACCESS SHARE MODE', 'SELECT * FROM fence_issuer', 'UPDATE fence_issuer SET issued = 1', 'DELETE FROM fence_history_state',
    'DELETE FROM fence_issuer_stamp', 'SELECT fence_attach(''patients'', ''x'')', 'SELECT fence_detach(''patients'')', 'SELECT fence_grant(''regress_fencelock_none'')',
    'ALTER TABLE patients DISABLE TRIGGER ALL', 'TRUNCATE patients', 'SET session_replication_role = replica',
    'CREATE TEMP TABLE t (id int); CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fence_guard(''resource=x'')']) AS statement;
RESET ROLE;

-- A role writes a guarded table with the rights that it has on that table, and none on fence_resource; not even fence_grant.
GRANT SELECT, INSERT, UPDATE, DELETE ON patients TO regress_fencelock_none;
SET ROLE regress_fencelock_none;
UPDATE patients SET status = 'stamped', fence_token = 11;
SELECT pg_temp.outcome($$UPDATE patients SET status = 'stale', fence_token = 10$$);
SELECT pg_temp.outcome_code($$UPDATE patients SET status = 'no token'$$);
INSERT INTO patients VALUES (2, 'other', 'stamped', 3);
BEGIN;
SET LOCAL fencelock.claims = '{"sec:other": 4}';
DELETE FROM patients WHERE id = 2;
COMMIT;
RESET ROLE;
REVOKE ALL ON patients FROM regress_fencelock_none;

-- A role that may write a column, but not read the one that the resource is named after.
GRANT SELECT (id), INSERT, UPDATE (status, fence_token), DELETE ON patients TO regress_fencelock_app;
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome($$UPDATE patients SET status = 'no token' WHERE id = 1$$);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 3 WHERE id = 1$$);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = -3 WHERE id = 1$$);
SELECT pg_temp.outcome($$DELETE FROM patients WHERE id = 1$$);
UPDATE patients SET fence_token = 12 WHERE id = 1;
BEGIN;
SELECT fence_check('sec:diagnosis', 13);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 12 WHERE id = 1$$);
COMMIT;
RESET ROLE;
INSERT INTO patients VALUES (3, 'issued', 'x', :first);
SELECT fence_issue('sec:issued', 2) > 0, fence_issue('sec:issued') > 0;
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 9000000000000 WHERE id = 3$$);
SELECT regexp_replace(pg_temp.outcome(format('UPDATE patients SET fence_token = %s WHERE id = 3', :first + 1)), '(token) \d+', '\1 N');
RESET ROLE;
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome(format('INSERT INTO patients VALUES (4, %L, ''too long'', 1)', repeat('long secret', 93)));
RESET ROLE;
-- With ties=reject and mark=row, alike.
CREATE UNIQUE INDEX ON patients (secret);
SELECT fence_attach('patients', 'sec:{secret}', 'fence_token', 'ties=reject', 'mark=row');
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 12 WHERE id = 1$$);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 5 WHERE id = 1$$);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = -5 WHERE id = 1$$);
RESET ROLE;
SELECT fence_attach('patients', 'sec:{secret}');
-- With SELECT on that one column it is told.
GRANT SELECT (secret) ON patients TO regress_fencelock_app;
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome_code($$SELECT status FROM patients$$);
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 3 WHERE id = 1$$);
RESET ROLE;

-- Under row security: not told, even of rows that it could see; the owner is, and whom row security does not concern.
GRANT SELECT ON patients TO regress_fencelock_app;
CREATE POLICY only_new ON patients FOR ALL TO regress_fencelock_app USING (id < 100);
ALTER TABLE patients ENABLE ROW LEVEL SECURITY;
SET ROLE regress_fencelock_app;
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 3 WHERE id = 1$$);
SELECT pg_temp.outcome($$UPDATE patients SET status = 'x' WHERE id = 1$$);
RESET ROLE;
SELECT pg_temp.outcome($$UPDATE patients SET fence_token = 3 WHERE id = 1$$);

DROP TABLE patients;
DROP OWNED BY regress_fencelock_app;
DROP ROLE regress_fencelock_app, regress_fencelock_none;

-- A foreign key's action runs as the table's owner; its error tells no more than whoever caused it may read.
CREATE ROLE regress_fencelock_cascade;
CREATE TABLE ward (id int PRIMARY KEY);
CREATE TABLE bed (ward int REFERENCES ward ON DELETE CASCADE, secret text NOT NULL);
SELECT fence_attach('bed', 'bed:{secret}');
INSERT INTO ward VALUES (1);
INSERT INTO bed VALUES (1, 'hidden', 1);
GRANT SELECT, DELETE ON ward TO regress_fencelock_cascade;
SET ROLE regress_fencelock_cascade;
SELECT pg_temp.outcome('DELETE FROM ward');
RESET ROLE;
GRANT SELECT (secret) ON bed TO regress_fencelock_cascade;
SET ROLE regress_fencelock_cascade;
SELECT pg_temp.outcome('DELETE FROM ward');
RESET ROLE;
DROP TABLE bed, ward;

-- Rights on a partitioned table count for its partitions.
CREATE TABLE visits (id int, fence_token bigint) PARTITION BY LIST (id);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1);
SELECT fence_attach('visits', 'visit:{id}');
INSERT INTO visits VALUES (1, 5);
GRANT SELECT, UPDATE ON visits TO regress_fencelock_cascade;
SET ROLE regress_fencelock_cascade;
SELECT pg_temp.outcome('UPDATE visits SET fence_token = 4');
RESET ROLE;
REVOKE SELECT ON visits FROM regress_fencelock_cascade;
SET ROLE regress_fencelock_cascade;
SELECT pg_temp.outcome('UPDATE visits SET fence_token = 4');
RESET ROLE;
DROP TABLE visits;
DROP ROLE regress_fencelock_cascade;
