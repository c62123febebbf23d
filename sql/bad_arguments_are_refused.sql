-- Bad input gets a clear error: what was wrong, and for which resource.
\set ECHO none
\i sql/include/outcome.psql

-- Names of resources: 1 to 1024 bytes.
SELECT pg_temp.outcome($$SELECT fence_check('', 1)$$);
SELECT pg_temp.outcome($$SELECT fence_check(repeat('x', 1025), 1)$$);
SELECT pg_temp.outcome($$SELECT fence_check(repeat(U&'\00e9', 513), 1)$$);
SELECT pg_temp.outcome(statement) FROM (VALUES
    ('SELECT fence_try('''', 1)'), ('SELECT fence_token('''')'), ('SELECT fence_issue('''')'),
    ('SELECT fence_acquire('''', ''o'', ''1 s'')'), ('SELECT fence_renew('''', ''o'', 1, ''1 s'')'),
    ('SELECT fence_release('''', ''o'', 1)')) AS s (statement);

-- Tokens start at 1.
SELECT pg_temp.outcome($$SELECT fence_check('bad:1', 0)$$);
SELECT pg_temp.outcome($$SELECT fence_check('bad:1', -1)$$);
SELECT pg_temp.outcome($$SELECT fence_try('bad:1', (-9223372036854775808)::bigint)$$);

-- NULL is no argument.
SELECT pg_temp.outcome(statement) FROM (VALUES
    ('SELECT fence_check(NULL, 1)'), ('SELECT fence_check(''bad:1'', NULL)'),
    ('SELECT fence_try(NULL, 1)'), ('SELECT fence_try(''bad:1'', NULL)'),
    ('SELECT fence_token(NULL)'),
    ('SELECT fence_issue(NULL)'), ('SELECT fence_issue(''bad:1'', NULL)'), ('SELECT fence_issue(''bad:1'', 1, NULL)'),
    ('SELECT fence_acquire(NULL, ''o'', ''1 s'')'), ('SELECT fence_acquire(''bad:1'', NULL, ''1 s'')'),
    ('SELECT fence_acquire(''bad:1'', ''o'', NULL)'),
    ('SELECT fence_renew(NULL, ''o'', 1, ''1 s'')'), ('SELECT fence_renew(''bad:1'', NULL, 1, ''1 s'')'),
    ('SELECT fence_renew(''bad:1'', ''o'', NULL, ''1 s'')'), ('SELECT fence_renew(''bad:1'', ''o'', 1, NULL)'),
    ('SELECT fence_release(NULL, ''o'', 1)'), ('SELECT fence_release(''bad:1'', NULL, 1)'),
    ('SELECT fence_release(''bad:1'', ''o'', NULL)'),
    ('SELECT fence_attach(NULL, ''x'')'), ('SELECT fence_attach(''pg_class'', NULL)'), ('SELECT fence_detach(NULL)'),
    ('SELECT fence_grant(NULL)')) AS s (statement);

-- Owners and tickets: 1 to 1024 bytes.
SELECT pg_temp.outcome(statement) FROM (VALUES
    ('SELECT fence_check(''bad:1'', 1, '''')'), ('SELECT fence_check(''bad:1'', 1, repeat(''o'', 1025))'),
    ('SELECT fence_issue(''bad:1'', 1, 0, '''')'), ('SELECT fence_issue(''bad:1'', 1, 0, repeat(''t'', 1025))'),
    ('SELECT fence_acquire(''bad:1'', '''', ''1 s'')'), ('SELECT fence_renew(''bad:1'', '''', 1, ''1 s'')'),
    ('SELECT fence_release(''bad:1'', repeat(''o'', 1025), 1)')) AS s (statement);

-- A reservation has 1 to 2^24 tokens, and its lower bound is none below 0.
SELECT pg_temp.outcome($$SELECT fence_issue('bad:1', 0)$$);
SELECT pg_temp.outcome_code($$SELECT fence_issue('bad:1', -1)$$);
SELECT pg_temp.outcome($$SELECT fence_issue('bad:1', 16777217)$$);
SELECT pg_temp.outcome_code($$SELECT fence_issue('bad:1', 9223372036854775807)$$);
SELECT pg_temp.outcome($$SELECT fence_issue('bad:1', 1, -1)$$);

-- A TTL lies between 1 ms and 1 year.
SELECT pg_temp.outcome($$SELECT fence_acquire('bad:1', 'o', '0')$$);
SELECT pg_temp.outcome_code(format('SELECT fence_acquire(''bad:1'', ''o'', %L)', ttl)) || ' ' || ttl
    FROM unnest(ARRAY['-1 s', '999 microseconds', '1 year 1 mon', '13 mons', '366 days', '8767 hours', '178000000 years', '-178000000 years',
                      '1 mon -30 days', '2147483647 days', '100000000 hours']) AS ttl;
SELECT pg_temp.outcome_code(format('SELECT fence_renew(''bad:1'', ''o'', 1, %L)', ttl)) || ' ' || ttl
    FROM unnest(ARRAY['0', '-1 s', '366 days']) AS ttl;
SELECT ttl FROM unnest(ARRAY['1 ms', '1 year', '12 mons', '365 days', '8766 hours', '1 mon -29 days']::interval[]) AS ttl
    WHERE fence_acquire('bad:ttl', 'o', ttl) IS NULL;

-- So does the time that a prune leaves to what is idle, between 0 and 100 years.
SELECT pg_temp.outcome($$SELECT fence_prune('-1 s')$$);
SELECT pg_temp.outcome_code(format('SELECT fence_prune(%L)', idle)) || ' ' || idle
    FROM unnest(ARRAY['100 years', '1200 mons', '36525 days', '876600 hours', '100 years 1 us', '1201 mons', '36526 days', '876601 hours', '100 years -1 mon 31 days',
                      '178000000 years', '-1 year', '1 mon -31 days']) AS idle;

-- Nothing of all this was kept.
SELECT count(*) FROM fence_resource WHERE resource = 'bad:1' OR resource = '';
SELECT count(*) FROM fence_issuer WHERE resource = 'bad:1' OR resource = '';
