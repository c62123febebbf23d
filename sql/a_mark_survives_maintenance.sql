-- A session remembers where it saw a resource's row. Whatever happens to the table meanwhile, it finds the mark that counts.
\set ECHO none
\i sql/include/outcome.psql
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || n, n);
CREATE FUNCTION wrong() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM generate_series(1, 1000) AS n
    WHERE fence_token('maint:' || n) IS DISTINCT FROM (SELECT mark FROM fence_resource WHERE resource = 'maint:' || n)
        OR fence_try('maint:' || n, (SELECT mark - 1 FROM fence_resource WHERE resource = 'maint:' || n) + CASE WHEN n = 1 THEN 1 ELSE 0 END) <> (n = 1)
$$;
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || n, 1000 + n);
SELECT wrong();
VACUUM fence_resource;
SELECT wrong();
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || n, 2000 + n);
VACUUM (FREEZE) fence_resource;
SELECT wrong();
VACUUM FULL fence_resource;
SELECT wrong();
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || n, 3000 + n);
CLUSTER fence_resource USING fence_resource_pkey;
SELECT wrong();
REINDEX TABLE fence_resource;
SELECT wrong();
-- Without and with the rewrite rolled back.
BEGIN;
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || n, 4000 + n);
CLUSTER fence_resource;
SELECT wrong();
ROLLBACK;
SELECT wrong();

-- One row raised over and over in one transaction: its versions fill pages, and the newest counts, or none of them.
BEGIN;
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:1', 10000 + n);
SELECT fence_token('maint:1'), fence_try('maint:1', 10999), fence_try('maint:1', 11000);
SAVEPOINT one;
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:1', 20000 + n);
SELECT fence_token('maint:1');
ROLLBACK TO one;
SELECT fence_token('maint:1'), fence_try('maint:1', 10999), fence_try('maint:1', 11001);
ROLLBACK;
SELECT fence_token('maint:1'), fence_try('maint:1', 3000), fence_try('maint:1', 3001);
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:2', 10000 + n);
SELECT fence_token('maint:2'), (SELECT count(*) FROM fence_resource WHERE resource = 'maint:2');
VACUUM fence_resource;
SELECT fence_token('maint:2'), fence_try('maint:2', 10999), fence_check('maint:2', 11001);
SELECT wrong();

-- An index that somebody adds is kept right as well.
CREATE INDEX maint_marks ON fence_resource (mark);
SELECT count(*) FROM generate_series(101, 200) AS n WHERE fence_check('maint:' || n, 50000 + n);
SELECT count(*) FROM generate_series(1101, 1200) AS n WHERE fence_check('maint:' || n, 50000 + n);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM fence_resource WHERE mark BETWEEN 50000 AND 60000;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX maint_marks;

-- So is one that has to be computed, of some of the rows.
CREATE INDEX maint_computed ON fence_resource ((mark % 1000)) WHERE mark > 70000;
SELECT count(*) FROM generate_series(201, 300) AS n WHERE fence_check('maint:' || n, 70000 + n);
SELECT count(*) FROM generate_series(1201, 1300) AS n WHERE fence_check('maint:' || n, 69500 + n);
SET enable_seqscan = off;
SELECT count(*) FROM fence_resource WHERE mark > 70000 AND mark % 1000 BETWEEN 201 AND 800;
SELECT resource FROM fence_resource WHERE mark > 70000 AND mark % 1000 = 250;
RESET enable_seqscan;
DROP INDEX maint_computed;

-- Rows that are gone, as a superuser may make them, are unknown; their names start anew.
DELETE FROM fence_resource WHERE resource LIKE 'maint:%';
SELECT fence_token('maint:3') IS NULL, fence_check('maint:3', 1), fence_token('maint:3');
VACUUM fence_resource;
SELECT count(*) FROM generate_series(1, 1000) AS n WHERE fence_check('maint:' || 1001 - n, 5);
SELECT count(*), min(mark), max(mark) FROM fence_resource WHERE resource LIKE 'maint:%';
SELECT wrong();
TRUNCATE fence_resource;
SELECT fence_token('maint:3') IS NULL, fence_check('maint:3', 2), fence_token('maint:3');
DROP FUNCTION wrong();

-- Columns that somebody adds to the tables stay NULL, and do no harm when they go.
ALTER TABLE fence_resource ADD COLUMN note text, ADD COLUMN other int;
SELECT fence_check('maint:added', 1), fence_check('maint:added', 2);
SELECT mark, note, other FROM fence_resource WHERE resource = 'maint:added';
ALTER TABLE fence_resource DROP COLUMN note, DROP COLUMN other;
SELECT fence_check('maint:added', 3), fence_issue('maint:added');

-- Whom somebody has granted all tables of the schema can't write these.
CREATE ROLE regress_fencelock_writer;
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON fence_resource, fence_issuer, fence_history_state, fence_issuer_stamp TO regress_fencelock_writer;
GRANT SELECT ON fence_resource TO regress_fencelock_writer;
SET ROLE regress_fencelock_writer;
SELECT pg_temp.outcome('UPDATE fence_resource SET mark = 1');
SELECT pg_temp.outcome_code('DELETE FROM fence_issuer'), pg_temp.outcome_code('TRUNCATE fence_history_state'),
       pg_temp.outcome_code($$INSERT INTO fence_issuer_stamp VALUES ('a', 'b')$$);
RESET ROLE;
REVOKE ALL ON fence_resource, fence_issuer, fence_history_state, fence_issuer_stamp FROM regress_fencelock_writer;
DROP ROLE regress_fencelock_writer;
