-- A lease kept in PostgreSQL: one owner at a time, a token that grows with every grant, an end by itself.
\set ECHO none
\i sql/include/outcome.psql

SELECT fence_acquire('lease:1', 'alice', '1 hour') AS first \gset
SELECT fence_acquire('lease:1', 'bob', '1 hour') IS NULL AS busy;
SELECT fence_acquire('lease:1', 'alice', '2 hours') - :first AS same_owner_same_token;
SELECT lease_owner, lease_until > clock_timestamp() + interval '110 minutes' AS new_ttl FROM fence_issuer WHERE resource = 'lease:1';

-- Renewing and releasing match owner and token.
SELECT fence_renew('lease:1', 'alice', :first, '3 hours'), fence_renew('lease:1', 'bob', :first, '3 hours'),
    fence_renew('lease:1', 'alice', :first + 1, '3 hours'), fence_renew('lease:0', 'alice', :first, '3 hours');
SELECT lease_until > clock_timestamp() + interval '170 minutes' FROM fence_issuer WHERE resource = 'lease:1';
SELECT count(*) FROM fence_issuer WHERE resource = 'lease:0';
SELECT fence_release('lease:1', 'bob', :first), fence_release('lease:1', 'alice', :first - 1), fence_release('lease:0', 'alice', :first);
SELECT fence_acquire('lease:1', 'bob', '1 hour') IS NULL AS still_busy;
SELECT fence_release('lease:1', 'alice', :first), fence_release('lease:1', 'alice', :first) AS again;
SELECT lease_owner IS NULL AND lease_token IS NULL AND lease_until IS NULL FROM fence_issuer WHERE resource = 'lease:1';
SELECT fence_renew('lease:1', 'alice', :first, '1 hour') AS never_creates_one;

-- The next grant has a higher token, whoever gets it.
SELECT fence_acquire('lease:1', 'bob', '1 hour') - :first AS bob;
SELECT fence_release('lease:1', 'bob', :first + 1);
SELECT fence_acquire('lease:1', 'bob', '1 hour') - :first AS bob_again;

-- A renewal may shorten; what has ended is nobody's. (The waits end on a condition, not on a clock.)
SELECT fence_renew('lease:1', 'bob', :first + 2, '1 ms');
DO $$ BEGIN WHILE clock_timestamp() <= (SELECT lease_until FROM fence_issuer WHERE resource = 'lease:1') LOOP PERFORM pg_sleep(0.001); END LOOP; END $$;
SELECT fence_renew('lease:1', 'bob', :first + 2, '1 hour') AS renewed, fence_release('lease:1', 'bob', :first + 2) AS released;
SELECT fence_acquire('lease:1', 'carol', '1 hour') - :first AS carol;

-- The token of a lease is accepted, and retires what was issued before it.
SELECT fence_check('lease:1', :first + 3, 'carol');
SELECT fence_try('lease:1', :first + 2);
SELECT fence_acquire('lease:1', 'carol', '1 hour') - :first AS same_token_while_it_is_the_mark;

-- The same owner gets a new token where a newer reservation has retired the old one, or the mark has passed it.
SELECT fence_issue('lease:1') - :first AS reserved;
SELECT fence_acquire('lease:1', 'carol', '1 hour') - :first AS retired_so_new;
SELECT fence_acquire('lease:1', 'dave', '1 hour') IS NULL AS still_hers;
SELECT fence_check('lease:1', :first + 5);
SELECT fence_issue('lease:1') - :first AS reserved, fence_check('lease:1', :first + 6);
SELECT fence_acquire('lease:1', 'carol', '1 hour') - :first AS passed_so_new;
SELECT fence_renew('lease:1', 'carol', :first + 5, '1 hour') AS by_the_old_token, fence_renew('lease:1', 'carol', :first + 7, '1 hour') AS by_the_new;

-- Above everything accepted before, where the lease is the first that is issued.
SELECT fence_check('lease:2', 5000), fence_acquire('lease:2', 'alice', '1 hour') > 5000;

-- A lease that was rolled back was not granted.
BEGIN;
SELECT fence_acquire('lease:3', 'alice', '1 hour') IS NOT NULL;
ROLLBACK;
SELECT fence_acquire('lease:3', 'bob', '1 hour') IS NOT NULL;
BEGIN;
SAVEPOINT one;
SELECT fence_release('lease:3', 'bob', (SELECT lease_token FROM fence_issuer WHERE resource = 'lease:3'));
ROLLBACK TO one;
SELECT fence_acquire('lease:3', 'alice', '1 hour') IS NULL;
COMMIT;

-- The clock is the wall's, not the transaction's: a lease ends inside a transaction too.
BEGIN;
SELECT fence_acquire('lease:4', 'alice', '1 ms') AS first \gset
DO $$ BEGIN WHILE clock_timestamp() <= (SELECT lease_until FROM fence_issuer WHERE resource = 'lease:4') LOOP PERFORM pg_sleep(0.001); END LOOP; END $$;
SELECT fence_acquire('lease:4', 'bob', '1 hour') - :first;
COMMIT;

-- Owners are opaque.
SELECT fence_acquire('lease:5', E'a\nb', '1 hour') AS first \gset
SELECT fence_acquire('lease:5', 'a b', '1 hour') IS NULL, fence_release('lease:5', 'a b', :first), fence_release('lease:5', E'a\nb', :first);

-- The history of issues has an id, the same as long as nothing happened to it.
SELECT fence_history() = fence_history(), fence_history() ~ '^[0-9a-f]{16}$';
