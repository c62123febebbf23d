-- Tokens belong to a generation of the database's history; a new one starts where issues may have been lost, and where a
-- generation's range is used up. Its number comes from the clock, so no number of it is shown.
\set ECHO none
\i sql/include/outcome.psql
SELECT current_database() AS home \gset
CREATE DATABASE regression_fencelock_history TEMPLATE template0;
\c regression_fencelock_history
\set ECHO none
\i sql/include/outcome.psql
CREATE EXTENSION fencelock;
CREATE FUNCTION generation() RETURNS bigint LANGUAGE sql AS $$ SELECT max(generation) FROM fence_history_state $$;

-- The first generation of a database is 0: tokens are small.
SELECT fence_history() AS history \gset
SELECT fence_issue('gen:1'), fence_issue('gen:1', 1000), fence_issue('gen:1'), fence_acquire('gen:2', 'o', '1 hour'), generation();
SELECT fence_history() = :'history' AS same_history;

-- A resource that uses up its range moves all to the next generation.
SELECT fence_issue('gen:full', 16777216), generation();
SELECT pg_temp.outcome_code('SELECT fence_issue(''gen:full'')');
SELECT generation() > 0 AS by_the_clock, generation() AS generation \gset
SELECT issued > :generation * 16777216::bigint, issued - first FROM fence_issuer WHERE resource = 'gen:full';
SELECT fence_history() <> :'history' AS other_history;
SELECT fence_issue('gen:1') = :generation * 16777216::bigint + 1 AS others_too, fence_issue('gen:3') = :generation * 16777216::bigint + 1 AS new_ones_too;
-- A lease's token of the last generation is not given again.
SELECT fence_acquire('gen:2', 'o', '1 hour') = :generation * 16777216::bigint + 1 AS new_token;
-- Blocks do not straddle; what is left of a range is skipped.
SELECT fence_issue('gen:4', 16777215) = :generation * 16777216::bigint + 1 AS first, fence_issue('gen:4', 2) > (:generation + 1) * 16777216::bigint AS next_range;
SELECT generation() > :generation AS moved, generation() AS generation \gset

-- So does one that is asked for more, "above" the range; never below what was given.
SELECT fence_issue('gen:5', 1, above => (:generation + 1) * 16777216::bigint) > (:generation + 1) * 16777216::bigint AS above, generation() > :generation AS moved;
SELECT generation() AS generation \gset
SELECT fence_issue('gen:6', 1, above => :generation * 16777216::bigint + 16777215) = (:generation + 1) * 16777216::bigint AS last_of_the_range, generation() = :generation AS stays;
SELECT pg_temp.outcome_code(format('SELECT fence_issue(''gen:7'', 1, %s)', 9007199254740992));
-- The limit that the error tells is one: what does not lie above it can be had, if not yet.
SELECT substring(pg_temp.outcome(format('SELECT fence_issue(''gen:7'', 10, %s)', 9007199254740992))
    FROM '"above" may be no more than (\d+) at this time: .* leaves room for 10 tokens in the next generation') AS highest \gset
SELECT (:highest + 10) % 16777216 AS short_of_a_generation, pg_temp.outcome_code('SELECT fence_issue(''gen:7'', 10, ' || :highest || ')') IN ('55P03', 'done') AS possible;

-- Whatever else than the extension writes fence_issuer starts a new generation, at the next issue.
SELECT fence_issue('gen:8') AS before \gset
SELECT fence_history() AS history, generation() AS generation \gset
DELETE FROM fence_issuer WHERE resource = 'gen:8';
SELECT fence_history() <> :'history' AS other_history;
SELECT fence_issue('gen:8') > :before AS never_again, generation() > :generation AS moved;
SELECT generation() AS generation \gset
UPDATE fence_issuer SET issued = 1 WHERE resource = 'gen:1';
SELECT fence_issue('gen:1') > :generation * 16777216::bigint AS higher, generation() > :generation AS moved;
SELECT generation() AS generation \gset
TRUNCATE fence_issuer;
SELECT fence_issue('gen:1') > :generation * 16777216::bigint AS higher, generation() > :generation AS moved;
SELECT generation() AS generation \gset
COPY fence_issuer FROM stdin;
gen:8	5	5	\N	\N	\N	\N	2026-01-01 00:00:00+00
\.
SELECT fence_issue('gen:8') > :generation * 16777216::bigint AS higher, generation() > :generation AS moved;
-- The extension's own writes do not.
SELECT generation() AS generation \gset
SELECT fence_issue('gen:8', 10) IS NOT NULL, fence_acquire('gen:9', 'o', '1 hour') IS NOT NULL, fence_check('gen:10', 1);
SELECT generation() = :generation;

-- Where a generation was started by a transaction that is rolled back, the next issue starts one again.
BEGIN;
DELETE FROM fence_issuer;
SELECT fence_issue('gen:1') IS NOT NULL;
ROLLBACK;
SELECT generation() = :generation;
DELETE FROM fence_issuer WHERE resource = 'gen:1';
BEGIN;
SELECT fence_issue('gen:1') AS lost \gset
ROLLBACK;
SELECT generation() = :generation, fence_issue('gen:1') >= :lost;

-- A ticket of the last generation gets no old block.
SELECT fence_issue('gen:11', 5, ticket => 't') AS block \gset
SELECT fence_issue('gen:11', 5, ticket => 't') = :block;
DELETE FROM fence_issuer WHERE resource = 'gen:1';
SELECT fence_issue('gen:11', 5, ticket => 't') > :block + 4;

-- A copy of the database is another history: it never gives out what the original does.
\c :home
CREATE DATABASE regression_fencelock_copy TEMPLATE regression_fencelock_history;
\c regression_fencelock_history
SELECT fence_history() AS history, fence_issue('gen:1') AS original \gset
\c regression_fencelock_copy
SELECT fence_history() <> :'history' AS other_history, fence_issue('gen:1') > :original AS other_token;
\c :home
DROP DATABASE regression_fencelock_copy;
DROP DATABASE regression_fencelock_history;
