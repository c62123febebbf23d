-- A resource's name is the same, whatever the session's settings are: else two sessions would guard two resources.
\set ECHO none
\i sql/include/outcome.psql
SET lc_monetary = 'C';
CREATE TYPE mood AS ENUM ('fine', 'so so');
CREATE DOMAIN short_text AS text CHECK (length(VALUE) < 100);
CREATE TYPE pair AS (at timestamptz, ratio float8);
CREATE TABLE of_all_types (
    n int PRIMARY KEY, c_bool bool, c_int2 int2, c_int8 int8, c_numeric numeric, c_float4 float4, c_float8 float8, c_money money, c_text text,
    c_varchar varchar(9), c_char char(5), c_name name, c_bytea bytea, c_date date, c_time time, c_timetz timetz, c_timestamp timestamp,
    c_timestamptz timestamptz, c_interval interval, c_uuid uuid, c_inet inet, c_json json, c_jsonb jsonb, c_point point, c_range tstzrange,
    c_array timestamptz[], c_floats float8[], c_bits bit(4), c_mood mood, c_domain short_text, c_pair pair, c_class regclass, c_proc regproc,
    c_type regtype, c_xid xid, c_ts tsvector);
SELECT fence_attach('of_all_types', string_agg(format('{%s}', attname), '|' ORDER BY attnum))
    FROM pg_attribute WHERE attrelid = 'of_all_types'::regclass AND attnum > 0;
PREPARE write_all AS INSERT INTO of_all_types VALUES (
    1, true, -2, 9223372036854775807, 1.50, 0.1, 0.1::float8 + 0.2::float8, '12.34', 'te|xt', 'var', 'ch', 'na me', '\x00ff', '2026-02-03', '04:05:06',
    '04:05:06+02', '2026-02-03 04:05:06', '2026-02-03 04:05:06+00', '1 year 2 mons -3 days 04:05:06', '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
    '10.0.0.0/8', '{"a" : 1}', '{"a" : 1}', '(0.1,0.2)', '[2026-02-03 04:05:06+00,)', '{2026-02-03 04:05:06+00}', '{0.1,1e300}', '0101', 'so so',
    'domain', ROW('2026-02-03 04:05:06+00', 0.3), 'of_all_types', 'fence_guard', 'mood', '77', 'a fat cat', 5);

EXECUTE write_all;
SELECT resource FROM fence_resource WHERE resource LIKE '1|t|%';
SELECT pg_temp.outcome($$UPDATE of_all_types SET fence_token = 4$$) LIKE '%"1|t|-2|9223372036854775807|1.50|0.1|0.30000000000000004|%';

-- With each setting changed, the one row of fence_resource is met again.
SET DateStyle = 'SQL, DMY';
UPDATE of_all_types SET fence_token = 6;
SET DateStyle = 'German';
SET IntervalStyle = 'iso_8601';
SET TimeZone = 'Asia/Kolkata';
UPDATE of_all_types SET fence_token = 7;
SET extra_float_digits = -10;
SET bytea_output = 'escape';
UPDATE of_all_types SET fence_token = 8;
SET xmloption = document;
SET quote_all_identifiers = on;
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.of_all_types ();
SELECT set_config('search_path', 'elsewhere, ' || current_setting('search_path'), false) <> '';
UPDATE public.of_all_types SET fence_token = 9;
BEGIN;
SET LOCAL search_path = '';
UPDATE public.of_all_types SET fence_token = 10;
COMMIT;
-- What the session set is as it was, after success and after failure.
SELECT current_setting('DateStyle'), current_setting('IntervalStyle'), current_setting('TimeZone'), current_setting('extra_float_digits'),
    current_setting('bytea_output'), current_setting('quote_all_identifiers'), current_setting('search_path');
SELECT pg_temp.outcome_code($$UPDATE public.of_all_types SET fence_token = 4$$), pg_temp.outcome_code($$UPDATE public.of_all_types SET c_text = 'x'$$);
SELECT current_setting('DateStyle'), current_setting('IntervalStyle'), current_setting('TimeZone'), current_setting('extra_float_digits'),
    current_setting('bytea_output'), current_setting('quote_all_identifiers'), current_setting('search_path');
SET search_path = public;
SELECT count(*), max(mark) FROM fence_resource WHERE resource LIKE '1|t|%';
DROP TABLE elsewhere.of_all_types;
DROP SCHEMA elsewhere;
RESET ALL;
SET client_min_messages = warning;

-- Each column can be NULL, and is then an error that names it.
SELECT pg_temp.outcome($$UPDATE of_all_types SET c_date = NULL, fence_token = 11$$);
SELECT pg_temp.outcome_code($$INSERT INTO of_all_types (n, fence_token) VALUES (2, 11)$$);
DROP TABLE of_all_types;
DROP TYPE mood, pair;
DROP DOMAIN short_text;

-- Literal text and braces; columns with odd names.
CREATE TABLE braces (id int, "Odd ""name"" {x" text DEFAULT 'odd', "two words" int DEFAULT 2);
SELECT fence_attach('braces', '{{{id}}}|{{id}}|{Odd "name" {x}|{two words}|''|\|%s|é|{id}{id}', 'fence_token');
INSERT INTO braces (id, fence_token) VALUES (1, 1);
SELECT resource FROM fence_resource WHERE resource LIKE '{1}%';
SELECT fence_attach('braces', 'tpl:a constant');
INSERT INTO braces (id, fence_token) VALUES (1, 5), (2, 6);
SELECT mark FROM fence_resource WHERE resource = 'tpl:a constant';
-- A name that is rendered too long or empty is refused.
SELECT fence_attach('braces', 'tpl:{Odd "name" {x}');
SELECT pg_temp.outcome(format('INSERT INTO braces VALUES (1, %L, 2, 1)', repeat('x', 1021)));
SELECT pg_temp.outcome_code(format('INSERT INTO braces VALUES (1, %L, 2, 1)', repeat('x', 1020)));
SELECT fence_attach('braces', '{Odd "name" {x}');
SELECT pg_temp.outcome($$INSERT INTO braces VALUES (1, '', 2, 1)$$);
-- Values that are stored out of line, and compressed ones.
ALTER TABLE braces SET (toast_tuple_target = 128);
ALTER TABLE braces ADD COLUMN filler text;
ALTER TABLE braces ALTER COLUMN filler SET STORAGE EXTERNAL;
SELECT fence_attach('braces', 'tpl:long:{Odd "name" {x}');
INSERT INTO braces VALUES (1, repeat('y', 1000), 2, 1, repeat('f', 3000));
UPDATE braces SET "two words" = 3, fence_token = 2 WHERE "Odd ""name"" {x" LIKE 'yyy%';
SELECT fence_token('tpl:long:' || repeat('y', 1000));
ALTER TABLE braces ALTER COLUMN "Odd ""name"" {x" SET STORAGE EXTERNAL;
INSERT INTO braces VALUES (1, repeat('z', 1000), 2, 1, repeat('f', 3000));
UPDATE braces SET "two words" = 3, fence_token = 2 WHERE "Odd ""name"" {x" LIKE 'zzz%';
SELECT fence_token('tpl:long:' || repeat('z', 1000));
SELECT pg_column_size("Odd ""name"" {x") < 100 AS compressed, left("Odd ""name"" {x", 1) FROM braces WHERE filler IS NOT NULL ORDER BY 2;
DROP TABLE braces;

-- Columns that were added later, with a default that old rows only stand for.
CREATE TABLE grown (id int);
INSERT INTO grown VALUES (1), (2);
ALTER TABLE grown ADD COLUMN tenant text NOT NULL DEFAULT 'acme';
ALTER TABLE grown ADD COLUMN fence_token bigint DEFAULT 3;
ALTER TABLE grown ALTER COLUMN fence_token DROP DEFAULT;
SELECT fence_attach('grown', 'tpl:{tenant}:{id}');
UPDATE grown SET fence_token = 4 WHERE id = 1;
SELECT fence_token('tpl:acme:1');
SELECT pg_temp.outcome_code($$UPDATE grown SET tenant = tenant WHERE id = 2$$);
BEGIN;
SELECT fence_check('tpl:acme:2', 5);
UPDATE grown SET id = id WHERE id = 2;
SELECT * FROM grown ORDER BY id;
COMMIT;
DROP TABLE grown;
