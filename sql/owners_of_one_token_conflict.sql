-- Two owners that hold one number were given it by a broken issuer: the second is refused, and learns nothing about the first.
\set ECHO none
\i sql/include/outcome.psql

SELECT fence_check('own:1', 5, 'alice');
SELECT fence_check('own:1', 5, 'alice');
SELECT pg_temp.outcome($$SELECT fence_check('own:1', 5, 'bob')$$);
SELECT pg_temp.outcome_code($$SELECT fence_try('own:1', 5, 'bob')$$);

-- No owner equals any, and does not take the name away.
SELECT fence_check('own:1', 5);
SELECT pg_temp.outcome_code($$SELECT fence_check('own:1', 5, 'bob')$$);

-- A stale token is stale, whoever presents it.
SELECT pg_temp.outcome_code($$SELECT fence_check('own:1', 4, 'alice')$$);

-- A higher token has the owner that it names, or none; the first one named stays until the mark rises.
SELECT fence_check('own:1', 6, 'bob'), (SELECT owner FROM fence_resource WHERE resource = 'own:1');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:1', 6, 'alice')$$);
SELECT fence_check('own:1', 7);
SELECT owner IS NULL FROM fence_resource WHERE resource = 'own:1';
SELECT fence_check('own:1', 7, 'carol');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:1', 7, 'alice')$$);
SELECT mark, owner FROM fence_resource WHERE resource = 'own:1';

-- The same inside one transaction, where the claim is remembered.
BEGIN;
SELECT fence_check('own:2', 5, 'alice');
SELECT fence_check('own:2', 5), fence_check('own:2', 5, 'alice');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:2', 5, 'bob')$$);
COMMIT;
BEGIN;
SELECT fence_check('own:2', 5);
SELECT pg_temp.outcome_code($$SELECT fence_check('own:2', 5, 'bob')$$);
SELECT fence_check('own:2', 5, 'alice');
COMMIT;
BEGIN;
SELECT fence_check('own:2', 6);
SELECT fence_check('own:2', 6, 'alice');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:2', 6, 'bob')$$);
SELECT fence_check('own:2', 7, 'bob'), fence_check('own:2', 7, 'bob');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:2', 7, 'alice')$$);
COMMIT;
SELECT mark, owner FROM fence_resource WHERE resource = 'own:2';

-- A stamp has no owner: it passes beside any, and takes no name away.
CREATE TABLE owned (id int, fence_token bigint);
SELECT fence_attach('owned', 'own:{id}');
INSERT INTO owned VALUES (2, 7);
SELECT mark, owner FROM fence_resource WHERE resource = 'own:2';
INSERT INTO owned VALUES (2, 8);
SELECT mark, owner IS NULL FROM fence_resource WHERE resource = 'own:2';
DROP TABLE owned;

-- Owners are opaque: compared byte for byte.
SELECT fence_check('own:3', 1, E'line\nbreak"');
SELECT fence_check('own:3', 1, E'line\nbreak"');
SELECT pg_temp.outcome_code($$SELECT fence_check('own:3', 1, 'line break"')$$);
SELECT pg_temp.outcome_code($$SELECT fence_check('own:3', 1, E'line\nbreak"\n')$$);
SELECT fence_check('own:4', 1, repeat('o', 1024)), fence_check('own:4', 1, repeat('o', 1024));
SELECT pg_temp.outcome_code($$SELECT fence_check('own:4', 1, repeat('o', 1023))$$);
