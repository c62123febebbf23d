-- Hostile arguments for everything that fencelock offers in SQL, drawn at random. Loaded by no_argument_crashes.pl into a
-- database with the extension; CALL fuzz(calls, seed) then makes that many calls, and table met has what they raised.

-- Makers of arguments, as text; NULL among them. Bytes that are characters only in some encodings come as bytes.

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS
	$$ SELECT choices[1 + floor(random() * cardinality(choices))::int] $$;

CREATE FUNCTION some_bytes() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	bytes bytea := ''::bytea;
BEGIN
	FOR i IN 1 .. floor(random() * 12)::int LOOP
		bytes := bytes || decode(lpad(to_hex(floor(random() * 256)::int), 2, '0'), 'hex');
	END LOOP;
	RETURN convert_from(bytes, getdatabaseencoding());
EXCEPTION WHEN OTHERS THEN -- not a string of this encoding
	RETURN convert_from(decode(translate(encode(bytes, 'hex'), '89abcdef', '34567345'), 'hex'), 'SQL_ASCII');
END $$;

CREATE FUNCTION some_text() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	r float := random();
	base text;
BEGIN
	IF r < 0.3 THEN RETURN pick('a', 'b', 'c', 'order:1', 'order:2'); END IF;
	IF r < 0.55 THEN RETURN 'r' || floor(random() * 300)::int; END IF;
	IF r < 0.58 THEN
		base := pick('x', '{', '}', '%s', '\', ' ', '"', chr(1), E'\n');
		RETURN repeat(base, pick('1', '63', '64', '1023', '1024', '1025', '1026', '8191',
			CASE WHEN random() < 0.02 THEN '1100000' ELSE '9000' END)::int);
	END IF;
	IF r < 0.65 THEN RETURN NULL; END IF;
	IF r < 0.8 THEN
		RETURN pick('', ' ', '''', '"', '\', '%', '%s%n%d', '{', '}', '{}', '{{', '}}', '{id}', '{id', '{{id}}', '{nothing}',
			'{"a": 1}', 'null', '$1', ';', '--', '/*', 'fence_resource', '0', '-1', '1e400', 'NaN', E'\t\r\n', E'\x7f');
	END IF;
	BEGIN
		RETURN some_bytes();
	EXCEPTION WHEN OTHERS THEN
		RETURN 'odd';
	END;
END $$;

CREATE FUNCTION some_bigint() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.5 THEN floor(random() * 50)::bigint::text
		WHEN random() < 0.5 THEN (floor(random() * 1e15)::bigint * sign(random() - 0.2)::int)::text
		ELSE pick('-9223372036854775808', '-1', '0', '1', '16777215', '16777216', '16777217', '2147483648', '4294967296',
			'9007199254740992', '9223372036854775806', '9223372036854775807', '-16777216', NULL) END $$;

CREATE FUNCTION some_interval() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT pick('0', '1 ms', '0.5 ms', '-1 ms', '1 second', '1 hour', '1 day', '366 days', '367 days', '1 year', '2 years',
		'-1 year', '178000000 years', '-178000000 years', '2147483647 months', '-2147483648 months', '2147483647 days',
		'-2147483648 days', '2147483647 months 2147483647 days', '2562047788:00:54.775807', '-2562047788:00:54.775807',
		'1 month -30 days', '-1 month 31 days', '1 day -24:00:00.0001', NULL) $$;

CREATE FUNCTION some_claims() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	parts text[] := '{}';
BEGIN
	IF random() < 0.3 THEN RETURN some_text(); END IF;
	IF random() < 0.1 THEN RETURN repeat('[', 6000); END IF;
	IF random() < 0.1 THEN RETURN repeat('{"a":', 6000); END IF;
	FOR i IN 1 .. floor(random() * pick('2', '2', '5', '5', '40')::int)::int LOOP
		parts := parts || format('%s: %s', to_json(coalesce(some_text(), 'n')),
			pick(some_bigint(), to_json(some_bigint())::text, '1.5', '1e3', 'true', 'null', '[]', '{}', '"1x"', '01', ''));
	END LOOP;
	RETURN '{' || array_to_string(parts, ',') || pick('}', '}', '}', '', '}}');
END $$;

CREATE FUNCTION some_options() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT format('VARIADIC ARRAY[%s]::text[]', (SELECT string_agg(quote_nullable(
		pick('mark=row', 'mark=resource', 'ties=reject', 'ties=accept', 'require=claim', 'require=any', 'unfenced=warn',
			'unfenced=reject', 'token=fence_token', 'resource=x', 'mark=', '=', 'mark', 'nonsense=1', some_text())), ',')
		FROM generate_series(1, floor(random() * 4)::int))) $$;

CREATE FUNCTION some_template() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT pick('o:{id}', '{id}', '{name}', '{name}{name}{name}', '{at}:{f}:{b}:{j}:{i}:{a}', '{{{id}}}', '{big}',
		repeat('{name}', 500), repeat('{id}', 1000), '{ctid}', '{fence_token}', '{generated}', '{"id"}', '{id }', some_text()) $$;

-- What they are put into.

CREATE TABLE guarded (id int, name text, at timestamptz, f float8, b bytea, j jsonb, i interval, a int[], big numeric,
	generated int GENERATED ALWAYS AS (id + 1) STORED);
CREATE TABLE met (code text PRIMARY KEY, times bigint, example text);

CREATE FUNCTION some_write() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT pick(
		format('INSERT INTO guarded (id, name, at, f, b, big, fence_token) VALUES (%s, %L, %L, %s, %L, %s, %s)',
			pick('1', '2', 'NULL', '-2147483648'), some_text(), pick('infinity', '-infinity', 'now', '4713-01-01 BC'),
			pick('''NaN''', '1e308', '-0', '1e-300'), '\xff00', pick('1e1000', '''NaN''', '0'), coalesce(some_bigint(), 'NULL')),
		format('UPDATE guarded SET name = %L, fence_token = %s', some_text(), coalesce(some_bigint(), 'NULL')),
		format('UPDATE guarded SET id = id + 1'),
		'DELETE FROM guarded WHERE random() < 0.5',
		'TRUNCATE guarded') $$;

CREATE FUNCTION some_statement() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	r text := coalesce(quote_nullable(some_text()), 'NULL');
	o text := quote_nullable(some_text());
	t text := coalesce(some_bigint(), 'NULL');
	d text := quote_nullable(some_interval());
BEGIN
	RETURN CASE floor(random() * 23)::int
		WHEN 0 THEN format('SELECT fence_check(%s, %s, %s)', r, t, o)
		WHEN 1 THEN format('SELECT fence_try(%s, %s, %s)', r, t, o)
		WHEN 2 THEN format('SELECT fence_token(%s)', r)
		WHEN 3 THEN format('SELECT fence_issue(%s, %s, %s, %s)', r, t, coalesce(some_bigint(), 'NULL'), o)
		WHEN 4 THEN format('SELECT fence_issue(%s, %s)', r, pick('1', '5', '1000'))
		WHEN 5 THEN format('SELECT fence_acquire(%s, %s, %s)', r, o, d)
		WHEN 6 THEN format('SELECT fence_renew(%s, %s, %s, %s)', r, o, t, d)
		WHEN 7 THEN format('SELECT fence_release(%s, %s, %s)', r, o, t)
		WHEN 8 THEN format('SELECT fence_reset(%s, %s)', r, t)
		WHEN 9 THEN format('SELECT set_config(''fencelock.claims'', %L, %s)', some_claims(), pick('true', 'false'))
		WHEN 10 THEN format('SELECT set_config(''fencelock.%s'', %L, true)', pick('enforce', 'preempt_after', 'nothing'),
			pick('on', 'warn', 'off', '1ms', '-1', '2147483647', '99999999999', some_text()))
		WHEN 11 THEN format('SELECT fence_attach(%L, %L, %L, %s)', pick('guarded', 'guarded', 'guarded', 'pg_class', 'met_pkey',
			'fence_stat'), some_template(), pick('fence_token', 'fence_token', 'id', 'big', 'generated', 'ctid', NULL, some_text()),
			some_options())
		WHEN 12 THEN format('SELECT fence_detach(%L)', pick('guarded', 'met', NULL))
		WHEN 13 THEN format('SELECT fence_validate_guard(%s, ARRAY[%L, %L, %L])', pick('''guarded''::regclass', '''met_pkey''::regclass',
			'''pg_class''::regclass'), some_text(), 'resource=' || some_template(), some_text())
		WHEN 14 THEN format('SELECT fence_guard_argument(ARRAY[%L, %L], %L, %L), fence_guard_arguments(%L::bytea)', some_text(), some_text(),
			some_text(), some_text(), pick('', '\x00', '\x6100', '\x610062', '\xff00', '\xc3', '\x0000'))
		WHEN 15 THEN pick('SELECT fence_history()', format('SELECT fence_prune(%s)', d), 'SELECT fence_new_generation()',
			'SELECT fence_guard()', 'SELECT * FROM fence_stat_counters()', 'SELECT fence_stat_counters()', 'TABLE fence_attachment',
			'SELECT fence_audit()', 'SELECT fence_grant(NULL)', 'SELECT fence_grant(''postgres'')',
			format('SELECT fence_guard_name(%L)', pick('guarded', 'pg_class', NULL)))
		WHEN 16 THEN format('SELECT fence_check(%L, %s, %L)', pick('owned:1', 'owned:2'), pick('5', '6'), pick('me', 'you', NULL))
		WHEN 17 THEN format('SELECT fence_own_mark(%s), fence_raise_mark(%1$s, %2$s)', r, t)
		WHEN 18 THEN format('SELECT fence_resource_name(%s, ARRAY[%L, %L], r.*) FROM %s r', pick('''guarded''::regclass', '''met''::regclass',
			'''met_pkey''::regclass', '0'), 'resource=' || some_template(), pick('mark=row', 'ties=accept', some_text()),
			pick('guarded', 'guarded', 'met', 'pg_class', '(VALUES (1), (NULL))'))
		ELSE some_write()
	END;
END $$;

CREATE PROCEDURE fuzz(calls int, seed float) LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	failure text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. calls LOOP
		BEGIN
			failure := '';
			statement := some_statement();
			EXECUTE statement;
		EXCEPTION WHEN OTHERS THEN
			failure := SQLERRM;
			INSERT INTO met VALUES (SQLSTATE, 1, left(failure || ' <- ' || coalesce(statement, ''), 300))
				ON CONFLICT (code) DO UPDATE SET times = met.times + 1;
		END;
		IF i % 200 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
