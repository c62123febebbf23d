-- The mark of a resource is the highest token that was accepted, and nothing lower is accepted after it.
\set ECHO none
\i sql/include/outcome.psql

-- A resource that nothing was issued for takes any token; an unknown one has no mark.
SELECT fence_token('mark:1') IS NULL;
SELECT fence_check('mark:1', 33);
SELECT fence_token('mark:1');

-- The same token again, a higher one, and one that is stale from then on.
SELECT fence_check('mark:1', 33), fence_token('mark:1');
SELECT fence_check('mark:1', 34), fence_token('mark:1');
SELECT pg_temp.outcome($$SELECT fence_check('mark:1', 33)$$);
SELECT fence_token('mark:1');

-- fence_try tells a stale token by its result.
SELECT fence_try('mark:1', 33), fence_try('mark:1', 34), fence_try('mark:1', 35), fence_token('mark:1');

-- The arguments have names.
SELECT fence_check(token => 36, resource => 'mark:1', owner => NULL);

-- What a transaction claimed bounds what it may present itself, also where the raise is its own and not committed.
BEGIN;
SELECT fence_check('mark:1', 40);
SELECT fence_try('mark:1', 39), fence_try('mark:1', 40), fence_try('mark:1', 41), fence_try('mark:1', 40);
ROLLBACK;
SELECT fence_token('mark:1');

-- A refusal leaves the transaction aborted and the mark as it was.
BEGIN;
SELECT fence_check('mark:1', 50);
SELECT fence_check('mark:1', 7);
SELECT fence_check('mark:1', 60);
COMMIT;
SELECT fence_token('mark:1');

-- Several raises in one statement, rising and falling.
SELECT bool_and(fence_check('mark:2', token)) FROM generate_series(1, 100) AS token;
SELECT fence_token('mark:2');
SELECT fence_check('mark:2', 102), fence_check('mark:2', 101);
SELECT fence_token('mark:2');
SELECT count(*) FILTER (WHERE accepted) FROM (SELECT fence_try('mark:2', 110 - n) AS accepted FROM generate_series(0, 9) AS n) AS t;
SELECT fence_token('mark:2');
SELECT count(*) FROM fence_resource WHERE resource = 'mark:2';

-- One row a resource, however many raises and in however many transactions.
DO $$
BEGIN
    FOR token IN 1..500 LOOP
        PERFORM fence_check('mark:3', token);
        COMMIT;
    END LOOP;
END
$$;
SELECT fence_token('mark:3'), (SELECT count(*) FROM fence_resource WHERE resource = 'mark:3');

-- Tokens around 2^53, where doubles end, and up to 2^63 - 1.
SELECT fence_check('mark:53', 9007199254740991), fence_try('mark:53', 9007199254740992), fence_try('mark:53', 9007199254740991);
SELECT fence_check('mark:53', 9007199254740993), fence_try('mark:53', 9007199254740992), fence_token('mark:53');
SELECT fence_check('mark:63', 9223372036854775806), fence_check('mark:63', 9223372036854775807);
SELECT fence_token('mark:63'), fence_try('mark:63', 9223372036854775806), fence_try('mark:63', 9223372036854775807);

-- 20,000 resources in one transaction need no setting changed; each is claimed, and stays so.
BEGIN;
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_check('mark:many:' || n, n);
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_check('mark:many:' || n, n);
COMMIT;
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_token('mark:many:' || n) = n;
BEGIN;
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_try('mark:many:' || n, 10000);
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_token('mark:many:' || n) = 10000;
ROLLBACK;
SELECT count(*) FROM generate_series(1, 20000) AS n WHERE fence_token('mark:many:' || n) = n;

-- Names are bytes: nothing in them is interpreted, and no two are one.
CREATE TEMP TABLE strange (n serial, name text);
INSERT INTO strange (name) VALUES
    ('it''s'), ('"quoted"'), (E'two\nlines'), (E'tab\t'), (' '), ('  '), ('{id}'), ('{{}}'), ('%s%n'), (E'back\\slash'),
    (U&'\00e9'), (U&'e\0301'), (U&'\65e5\672c'), (U&'\+01F600'), ('A'), ('a'), ('order:1'), ('order:1 '), ('order:01'),
    (repeat('x', 1024)), (repeat('x', 1023)), (repeat(U&'\00e9', 512));
SELECT bool_and(fence_check(name, n)) FROM strange;
SELECT count(*) FROM strange WHERE fence_token(name) = n;
SELECT pg_temp.outcome(format('SELECT fence_check(%L, 1)', name)) FROM strange WHERE n IN (2, 3, 7, 9, 13);

-- In a WHERE clause the check protects what the statement writes.
CREATE TEMP TABLE account (id int, balance int);
INSERT INTO account VALUES (1, 100);
UPDATE account SET balance = 90 WHERE id = 1 AND fence_check('mark:account', 5);
UPDATE account SET balance = 80 WHERE id = 1 AND fence_check('mark:account', 4);
SELECT balance FROM account;
