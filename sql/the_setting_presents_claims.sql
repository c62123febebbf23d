-- fencelock.claims presents tokens for programs that cannot be changed; what does not fit is refused when it is set.
\set ECHO none
\i sql/include/outcome.psql
CREATE TABLE legacy (id text, note text, fence_token bigint);
SELECT fence_attach('legacy', '{id}');

-- One flat JSON object of names and whole numbers; strings of digits do as well.
SET fencelock.claims = '{"set:1": 10, "set:2": "20", "set:63": 9223372036854775807, "set:53": "9007199254740993"}';
INSERT INTO legacy VALUES ('set:1', 'number'), ('set:2', 'string'), ('set:63', '2^63 - 1'), ('set:53', '2^53 + 1');
SELECT * FROM legacy;
SET fencelock.claims = '';
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:1')$$);
SET fencelock.claims = '{}';
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:1')$$);
SET fencelock.claims = E'  {\n "set:1" : 11 } ';
INSERT INTO legacy VALUES ('set:1', 'white space');
RESET fencelock.claims;
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:1')$$);

-- What does not fit is an error, and the setting stays as it was.
SET fencelock.claims = '{"set:1": 12}';
\set VERBOSITY default
SET fencelock.claims = 'rubbish';
SET fencelock.claims = '{"set:1": 0}';
SET fencelock.claims = '{"": 1}';
SET fencelock.claims = '{"set:1": 1, "set:1": 2}';
SET fencelock.claims = '{"set:\u0000": 1}';
\set VERBOSITY sqlstate
SELECT value || ' ' || pg_temp.outcome_code(format('SET fencelock.claims = %L', value)) FROM unnest(ARRAY[
    '{"a": -1}', '{"a": 1.5}', '{"a": 1e3}', '{"a": 9223372036854775808}', '{"a": 99999999999999999999999}', '{"a": null}', '{"a": true}',
    '{"a": "x"}', '{"a": ""}', '{"a": "1x"}', '{"a": "-1"}', '{"a": "+1"}', '{"a": " 1"}', '{"a": "1 "}', '{"a": "\t1"}', '{"a": "0x1"}', '{"a": "1.0"}', '{"a": "0"}', '{"a": [1]}', '{"a": {"b": 1}}', '[1]', '["a", 1]', '1', '"a"', 'null',
    '{"a": 1', '{"a": 1}}', '{"a": 1} x', '{"a"}', '{a: 1}', '{"a": 1,}', '{"b": 1, "a": 2, "b": 3}', '[[[[', '{"a": "\u0000"}']) AS value;
INSERT INTO legacy VALUES ('set:1', 'as it was');
SELECT id, note, fence_token FROM legacy WHERE fence_token = 12;
SELECT pg_temp.outcome_code(format('SET fencelock.claims = %L', json_build_object(repeat('x', 1025), 1))),
    pg_temp.outcome_code(format('SET fencelock.claims = %L', json_build_object(repeat('x', 1024), 1)));

-- Names with quotes, escapes, newlines, braces and UTF-8 are themselves; a number around them does not matter.
RESET fencelock.claims;
CREATE TEMP TABLE names (n serial, name text);
INSERT INTO names (name) VALUES ('it''s'), ('"quoted"'), (E'two\nlines'), ('{"a": 1}'), (E'back\\slash'), (U&'\00e9\65e5\+01F600'), (' '), ('set:b'), ('set:B'),
    ('set:'), ('set:bb');
UPDATE names SET name = 'named: ' || name;
BEGIN;
SELECT length(set_config('fencelock.claims', json_object_agg(name, n)::text, true)) > 0 FROM names;
INSERT INTO legacy SELECT name, 'named' FROM names;
COMMIT;
SELECT count(*) FROM legacy JOIN names ON id = name WHERE fence_token = n AND note = 'named';
BEGIN;
SET LOCAL fencelock.claims = '{"set:\u00e9\u65e5\ud83d\ude00\"\\\/\n": 5}';
INSERT INTO legacy VALUES (U&'set:\00e9\65e5\+01F600"\005c/\000a', 'escaped');
SELECT fence_token FROM legacy WHERE note = 'escaped';
COMMIT;

-- Thousands of claims.
BEGIN;
SELECT length(set_config('fencelock.claims', json_object_agg('set:n:' || n, n)::text, true)) > 0 FROM generate_series(1, 5000) AS n;
INSERT INTO legacy SELECT 'set:n:' || n, 'many' FROM generate_series(1, 5000) AS n;
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:n:5001')$$);
COMMIT;
SELECT count(*), bool_and(id = 'set:n:' || fence_token) FROM legacy WHERE note = 'many';

-- SET LOCAL ends with the transaction, a savepoint takes it back, and a function's SET clause ends with the function.
BEGIN;
SET LOCAL fencelock.claims = '{"set:3": 30}';
SAVEPOINT one;
SET LOCAL fencelock.claims = '{"set:4": 40}';
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:3')$$), pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:4')$$);
ROLLBACK TO one;
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:3')$$), pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:4')$$);
COMMIT;
CREATE FUNCTION write_legacy(text) RETURNS void LANGUAGE sql SET fencelock.claims = '{"set:5": 50, "set:6": 60}' AS $$
    INSERT INTO legacy VALUES ($1, 'in a function')
$$;
SELECT write_legacy('set:5');
SELECT pg_temp.outcome_code($$INSERT INTO legacy VALUES ('set:6')$$);

-- The setting alone is nothing: it is compared with a mark at the first write only.
SET fencelock.claims = '{"set:7": 70}';
SELECT fence_token('set:7') IS NULL;
SELECT fence_check('set:7', 71);
SELECT pg_temp.outcome($$INSERT INTO legacy VALUES ('set:7')$$);
RESET fencelock.claims;

-- Any user may set it, and it gives no more than a stamp would.
CREATE ROLE regress_fencelock_setter;
GRANT SELECT, INSERT ON legacy TO regress_fencelock_setter;
SET ROLE regress_fencelock_setter;
SET fencelock.claims = '{"set:8": 80, "set:7": 1}';
INSERT INTO legacy VALUES ('set:8', 'by a plain role');
INSERT INTO legacy VALUES ('set:7', 'stale');
RESET ROLE;
RESET fencelock.claims;

DROP FUNCTION write_legacy(text);
DROP TABLE legacy;
DROP ROLE regress_fencelock_setter;
-- What was set before the module was loaded is checked when it is: a bad value is no claim.
\c -
SET client_min_messages = error;
SET fencelock.claims = 'rubbish';
SELECT fence_check('set:9', 1);
SHOW fencelock.claims;
\c -
SET fencelock.claims = '{"set:9": 2}';
SELECT fence_check('set:9', 1);
SHOW fencelock.claims;
