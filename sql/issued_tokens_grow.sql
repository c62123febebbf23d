-- Where the database issues a resource's tokens, none repeats or falls, and only what was issued is accepted.
-- Numbers are shown as distances: where they start depends on the database's history.
\set ECHO none
\i sql/include/outcome.psql

SELECT fence_issue('iss:1') AS first \gset
SELECT fence_issue('iss:1') - :first AS second;
SELECT fence_issue('iss:1', 10) - :first AS block_of_ten;
SELECT fence_issue('iss:1') - :first AS after_the_block;
SELECT fence_issue(resource => 'iss:1', above => :first + 100) - :first AS above_first_plus_100;
SELECT fence_issue('iss:1', 1, 5) - :first AS above_is_met_already;
SELECT array_agg(fence_issue('iss:1') - :first) FROM generate_series(1, 5);

-- A rolled back reservation was never made.
BEGIN;
SELECT fence_issue('iss:1', 1000) - :first;
ROLLBACK;
SELECT fence_issue('iss:1') - :first;

-- Issuing is no claim: it moves no mark.
SELECT fence_token('iss:1') IS NULL;

-- Tokens above what was issued were never handed out.
SELECT fence_issue('iss:2', 10) AS first \gset
SELECT replace(pg_temp.outcome(format('SELECT fence_check(''iss:2'', %s)', :first + 10)), :first::text, 'FIRST')
    LIKE 'LF004: fencing token % of resource "iss:2" was never issued, the highest issued is %' AS not_issued;
SELECT pg_temp.outcome_code(format('SELECT fence_try(''iss:2'', %s)', :first + 10));
SELECT pg_temp.outcome_code($$SELECT fence_check('iss:2', 1795000000000)$$), pg_temp.outcome_code($$SELECT fence_check('iss:2', 9223372036854775807)$$);
SELECT fence_token('iss:2') IS NULL;
SELECT fence_check('iss:2', :first + 9), fence_token('iss:2') - :first;
SELECT pg_temp.outcome_code(format('SELECT fence_check(''iss:2'', %s)', :first + 10));

-- What this very transaction issued counts, and not after a rollback.
BEGIN;
SELECT fence_issue('iss:2') - :first AS issued, fence_check('iss:2', :first + 10);
ROLLBACK;
SELECT pg_temp.outcome_code(format('SELECT fence_check(''iss:2'', %s)', :first + 10));
BEGIN;
SAVEPOINT one;
SELECT fence_issue('iss:2') - :first AS issued;
ROLLBACK TO one;
SELECT pg_temp.outcome_code(format('SELECT fence_check(''iss:2'', %s)', :first + 10));
COMMIT;

-- Errors with all they carry; the numbers are made small for it.
INSERT INTO fence_issuer (resource, issued, first, changed_at) VALUES ('iss:3', 20, 11, now());
SELECT pg_temp.outcome($$SELECT fence_check('iss:3', 21)$$);
SELECT pg_temp.outcome($$SELECT fence_check('iss:3', 10)$$);
SELECT fence_check('iss:3', 11);

-- A new reservation retires the earlier tokens that were not presented; whose token is the mark goes on.
SELECT fence_issue('iss:4', 5) AS first \gset
SELECT fence_check('iss:4', :first + 1);
SELECT fence_issue('iss:4', 5) - :first AS newer;
SELECT fence_check('iss:4', :first + 1) AS holder_of_the_mark_goes_on;
SELECT pg_temp.outcome_code(format('SELECT fence_check(''iss:4'', %s)', :first + 2)) AS retired;
SELECT fence_try('iss:4', :first + 4) AS retired;
SELECT fence_check('iss:4', :first + 1, 'named') AS names_its_owner_too;
SELECT fence_try('iss:4', :first + 5) AS newest, fence_try('iss:4', :first + 1) AS former;
-- Retired where nothing was ever presented, too.
SELECT fence_issue('iss:5') AS first \gset
SELECT fence_issue('iss:5') - :first;
SELECT fence_try('iss:5', :first), fence_token('iss:5') IS NULL, fence_try('iss:5', :first + 1);

-- The same ticket as last time gets the same block again; any other, or other terms, a new one.
SELECT fence_issue('iss:6', 10, ticket => 'a') AS first \gset
SELECT fence_issue('iss:6', 10, ticket => 'a') - :first AS again, fence_issue('iss:6', 10, 0, 'a') - :first AS and_again;
SELECT fence_check('iss:6', :first);
SELECT fence_issue('iss:6', 10, ticket => 'a') - :first AS still;
SELECT fence_issue('iss:6', 10, ticket => 'b') - :first AS other_ticket;
SELECT fence_issue('iss:6', 10, ticket => 'a') - :first AS no_longer_the_last_ticket;
SELECT fence_issue('iss:6', 5, ticket => 'a') - :first AS other_size;
SELECT fence_issue('iss:6', 5, above => :first + 30, ticket => 'a') - :first AS not_above;
SELECT fence_issue('iss:6', 5, above => :first + 34, ticket => 'a') - :first AS above_its_first;
SELECT fence_issue('iss:6') - :first AS no_ticket, fence_issue('iss:6') - :first AS no_ticket_again;
SELECT fence_issue('iss:6', 1, ticket => 'a') - :first AS forgotten;
SELECT fence_issue('iss:6b', 10, ticket => 'a') = fence_issue('iss:6b', 10, ticket => 'a') AS tickets_are_the_resources_own;

-- Above every mark that was accepted before, also where nothing was issued then.
SELECT fence_check('iss:7', 1000), fence_issue('iss:7') > 1000;
BEGIN;
SELECT fence_check('iss:8', 500);
SELECT fence_issue('iss:8') > 500;
ROLLBACK;

-- Tokens beyond every generation are counted on: around 2^53, and to the end of bigint.
SELECT fence_check('iss:53', 9007199254740991);
SELECT fence_issue('iss:53'), fence_issue('iss:53', 3), fence_issue('iss:53');
SELECT fence_check('iss:53', 9007199254740996), fence_token('iss:53');
-- A bound that is met anyway asks for nothing.
SELECT fence_issue('iss:53', 1, 9007199254740996);
SELECT pg_temp.outcome_code($$SELECT fence_issue('iss:53', 1, 9007199254750000)$$);
SELECT fence_check('iss:63', 9223372036854775804);
SELECT pg_temp.outcome($$SELECT fence_issue('iss:63', 4)$$);
SELECT fence_issue('iss:63', 2), fence_issue('iss:63');
SELECT pg_temp.outcome($$SELECT fence_issue('iss:63')$$);
SELECT pg_temp.outcome_code($$SELECT fence_acquire('iss:63', 'o', '1 s')$$);
SELECT fence_check('iss:63', 9223372036854775807);
SELECT fence_check('iss:63b', 9223372036854775807);
SELECT pg_temp.outcome_code($$SELECT fence_issue('iss:63b')$$), pg_temp.outcome_code($$SELECT fence_issue('iss:63b', 16777216)$$);
SELECT pg_temp.outcome_code($$SELECT fence_issue('iss:64', 1, 9223372036854775807)$$),
    pg_temp.outcome_code($$SELECT fence_issue('iss:64', 1, 9223372036854775806)$$),
    pg_temp.outcome_code($$SELECT fence_issue('iss:64', 16777216, 9223372036854775806)$$);
SELECT count(*) FROM fence_issuer WHERE issued < 1 OR first < 1 OR first > issued;

-- All of a big block can be used.
SELECT fence_issue('iss:9', 1000) AS first \gset
SELECT count(*) FROM generate_series(0, 999) AS n WHERE fence_check('iss:9', :first + n);
SELECT pg_temp.outcome_code(format('SELECT fence_check(''iss:9'', %s)', :first + 1000));

-- Many issues, each above the one before.
DO $$
DECLARE
    last bigint := 0;
    next bigint;
BEGIN
    FOR n IN 1..500 LOOP
        next := fence_issue('iss:10', 1 + n % 3);
        IF next <= last THEN
            RAISE EXCEPTION 'token % after %', next, last;
        END IF;
        last := next + n % 3;
        IF n % 7 = 0 THEN ROLLBACK; last := 0; ELSE COMMIT; END IF;
    END LOOP;
END
$$;
SELECT count(*) FROM fence_issuer WHERE resource = 'iss:10';
