-- MERGE, from PostgreSQL 15 on: an action that writes the token column stamps; one that does not, needs a claim, whatever
-- another action of the same MERGE names.
\set ECHO none
\i sql/include/outcome.psql
SELECT current_setting('server_version_num')::int < 150000 AS no_merge \gset
\if :no_merge
\quit
\endif
CREATE TABLE merged (id int PRIMARY KEY, note text, fence_token bigint);
SELECT fence_attach('merged', 'merge:{id}');
INSERT INTO merged VALUES (1, 'one', 10), (2, 'two', 20);
CREATE TABLE incoming (id int, note text, token bigint);
INSERT INTO incoming VALUES (1, 'stamped', 11), (3, 'inserted', 30);

-- Stamped.
MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED THEN UPDATE SET note = incoming.note, fence_token = incoming.token
    WHEN NOT MATCHED THEN INSERT VALUES (incoming.id, incoming.note, incoming.token);
SELECT * FROM merged ORDER BY id;
-- Stale, and without a token.
SELECT pg_temp.outcome_code($$MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED THEN UPDATE SET note = 'stale', fence_token = incoming.token - 1$$);
SELECT pg_temp.outcome($$MERGE INTO merged USING incoming ON merged.id = incoming.id WHEN MATCHED THEN UPDATE SET note = 'no change', fence_token = merged.fence_token$$);
SELECT pg_temp.outcome_code($$MERGE INTO merged USING incoming ON merged.id = incoming.id WHEN MATCHED THEN DELETE$$);
-- The union of the SET lists is no stamp of a row whose own action does not write the column.
SELECT pg_temp.outcome_code($$MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED AND merged.id = 1 THEN UPDATE SET note = 'no token'
    WHEN MATCHED THEN UPDATE SET note = incoming.note, fence_token = incoming.token + 1$$);
SELECT * FROM merged ORDER BY id;
-- Claimed.
BEGIN;
SELECT fence_check('merge:1', 12), fence_check('merge:3', 31);
MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED AND merged.id = 1 THEN UPDATE SET note = 'claimed'
    WHEN MATCHED THEN DELETE;
COMMIT;
SELECT * FROM merged ORDER BY id;
-- DO NOTHING writes nothing.
MERGE INTO merged USING incoming ON merged.id = incoming.id WHEN MATCHED THEN DO NOTHING;
-- An UPDATE beside it is no MERGE: the SET list counts again.
UPDATE merged SET fence_token = fence_token WHERE id = 1;
-- The same where a MERGE is a session's first statement, whose guard loads the module, and where it is explained.
\connect -
\set VERBOSITY sqlstate
MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED AND merged.id = 1 THEN UPDATE SET note = 'no token'
    WHEN MATCHED THEN UPDATE SET note = incoming.note, fence_token = incoming.token + 1;
\connect -
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) MERGE INTO merged USING incoming ON merged.id = incoming.id
    WHEN MATCHED AND merged.id = 1 THEN UPDATE SET note = 'no token'
    WHEN MATCHED THEN UPDATE SET note = incoming.note, fence_token = incoming.token + 1;
\connect -
UPDATE merged SET fence_token = fence_token WHERE id = 1;
SELECT * FROM merged ORDER BY id;
\set VERBOSITY default
DROP TABLE merged, incoming;
