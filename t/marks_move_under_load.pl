# A table's marks move from its rows to fence_resource and back while it is written: by stamps, by claims, by DELETE and
# INSERT, with tokens of which many are stale. Whatever is accepted carries a token that is not below the one before.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use Test::More;

my $node = start_new_server('moving', conf => "max_connections = 40\nfsync = off\ndeadlock_timeout = '50ms'\n");

# Each function is one transaction of its own. What a newer holder's token or a deadlock has refused is tried no further.
$node->safe_psql('postgres', "
	CREATE TABLE orders (id int PRIMARY KEY, v int, fence_token bigint);
	SELECT fence_attach('orders', 'order:{id}', 'fence_token', 'mark=row');
	CREATE TABLE accepted (position bigint, id int, token bigint);
	CREATE TABLE moved (mark text);
	CREATE SEQUENCE position;
	CREATE SEQUENCE counter START 100;
	CREATE FUNCTION note_accepted() RETURNS trigger LANGUAGE plpgsql AS \$\$
	BEGIN
		INSERT INTO public.accepted VALUES (nextval('public.position'), NEW.id, NEW.fence_token);
		RETURN NULL;
	END \$\$;
	CREATE TRIGGER note_accepted AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION note_accepted();
	CREATE FUNCTION late_token() RETURNS bigint LANGUAGE sql AS \$\$ SELECT nextval('counter') - floor(random() * 40)::int \$\$;
	CREATE FUNCTION try(statement text) RETURNS void LANGUAGE plpgsql AS \$\$
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN deadlock_detected OR SQLSTATE 'LF001' THEN
	END \$\$;
	INSERT INTO orders SELECT n, 0, 1 FROM generate_series(1, 5) AS n");

my $stamp = q{
\set id random(1, 5)
SELECT try('UPDATE orders SET v = v + 1, fence_token = late_token() WHERE id = ' || :id);
};
my $claim = q{
\set id random(1, 5)
SELECT try('DO $do$ BEGIN PERFORM fence_check(''order:' || :id || ''', late_token()); UPDATE orders SET v = v + 1 WHERE id = ' || :id || '; END $do$');
};
my $replace = q{
\set id random(1, 5)
SELECT try('DO $do$ BEGIN PERFORM fence_check(''order:' || :id || ''', late_token()); DELETE FROM orders WHERE id = ' || :id || ';'
	|| 'INSERT INTO orders VALUES (' || :id || ', 0); END $do$');
};
my $move = q{
\set way random(0, 1)
SELECT try(format('SELECT fence_attach(%L, %L, %L, %L); INSERT INTO moved VALUES (%4$L)', 'orders', 'order:{id}', 'fence_token',
	CASE :way WHEN 0 THEN 'mark=row' ELSE 'mark=resource' END));
};
$node->pgbench('--no-vacuum --client=6 --jobs=2 --transactions=400',
	0, [qr{processed: 2400/2400}], [qr{^(?!.*ERROR)}s], 'writes go on beside moves',
	{ 'stamp@8' => $stamp, 'claim@8' => $claim, 'replace@4' => $replace, 'move@2' => $move });

accepted_in_order($node, 'id');
cmp_ok(value($node, 'SELECT count(*) FROM moved'), '>', 20, '(and the marks have moved)');

done_testing();
