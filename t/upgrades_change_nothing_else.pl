# ALTER EXTENSION UPDATE from every earlier version leaves data, guards and marks as they were and the catalogs as a
# new installation has them. The module runs the objects of every earlier version too, since it is replaced before they
# are. pg_upgrade carries all over, and what is issued then was never issued before.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use PsqlSession;
use Test::More;

# The schema's name is part of what is compared, so it is the same one in all databases.
my $node = new_server('upgrade', conf => "max_prepared_transactions = 5\n");
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE fresh");
$node->safe_psql('fresh', "CREATE SCHEMA fences; CREATE EXTENSION fencelock SCHEMA fences");
my $newest = value($node, "SELECT default_version FROM pg_available_extensions WHERE name = 'fencelock'");

# All members and what belongs to them, one line an object or property. Names of roles and OIDs do not show.
my $catalog_query = q{
SET search_path = pg_catalog;
CREATE TEMP VIEW member AS
	SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'fencelock';
CREATE TEMP VIEW own_table AS
	SELECT objid FROM member WHERE classid = 'pg_class'::regclass;
SELECT line FROM (
	SELECT concat_ws(' ', 'member:', pg_describe_object(classid, objid, 0)) AS line FROM member
	UNION ALL
	SELECT concat_ws(' ', 'comment:', pg_describe_object(classoid, objoid, objsubid), description)
		FROM pg_description WHERE (classoid, objoid) IN (SELECT classid, objid FROM member)
	UNION ALL
	SELECT concat_ws(' ', 'function:', oid::regprocedure, pg_get_functiondef(oid), probin) FROM pg_proc
		WHERE oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
	UNION ALL
	SELECT concat_ws(' ', 'rights:', oid::regprocedure, coalesce(proacl::text, 'default')) FROM pg_proc
		WHERE oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
	UNION ALL
	SELECT concat_ws(' ', 'relation:', oid::regclass, relkind, coalesce(relacl::text, 'default'), reloptions, relam,
			relpersistence, relreplident, relrowsecurity)
		FROM pg_class WHERE oid IN (SELECT objid FROM own_table)
	UNION ALL
	SELECT concat_ws(' ', 'column:', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod), attstorage,
			attnotnull, attcollation, attisdropped, coalesce(attacl::text, 'default'))
		FROM pg_attribute WHERE attrelid IN (SELECT objid FROM own_table) AND attnum > 0
	UNION ALL
	SELECT concat_ws(' ', 'view:', oid::regclass, pg_get_viewdef(oid)) FROM pg_class
		WHERE relkind = 'v' AND oid IN (SELECT objid FROM own_table)
	UNION ALL
	SELECT concat_ws(' ', 'index:', pg_get_indexdef(indexrelid)) FROM pg_index
		WHERE indrelid IN (SELECT objid FROM own_table)
	UNION ALL
	SELECT concat_ws(' ', 'constraint:', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
		WHERE conrelid IN (SELECT objid FROM own_table)
	UNION ALL
	SELECT concat_ws(' ', 'trigger:', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
		WHERE tgrelid IN (SELECT objid FROM own_table)
	UNION ALL
	SELECT concat_ws(' ', 'extension:', extversion, extnamespace::regnamespace, extrelocatable) FROM pg_extension
		WHERE extname = 'fencelock'
	UNION ALL
	SELECT concat_ws(' ', 'dumped:', n, c::regclass, w)
		FROM pg_extension, unnest(extconfig, extcondition) WITH ORDINALITY AS u (c, w, n)
		WHERE extname = 'fencelock') a
ORDER BY line COLLATE "C"};
sub catalog_of { return value($node, $catalog_query, $_[0]); }

# What a user has.
my $data_query = q{
	SELECT format('resource %s %s %s', resource, mark, owner) FROM fences.fence_resource
	UNION ALL SELECT format('issuer %s', i) FROM fences.fence_issuer i
	UNION ALL SELECT format('history %s', h) FROM fences.fence_history_state h
	UNION ALL SELECT format('order %s', o) FROM orders o
	UNION ALL SELECT format('trigger %s %s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE tgrelid = 'orders'::regclass
	UNION ALL SELECT format('id %s', fences.fence_history())
	ORDER BY 1};

my $fresh = catalog_of('fresh');
cmp_ok(scalar(split /\n/, $fresh), '>', 100, '(there is something to compare)');

foreach my $version ('0.1.0')
{
	my $db = "from_$version";
	$node->safe_psql('postgres', "CREATE DATABASE \"$db\"");
	$node->safe_psql($db, "CREATE SCHEMA fences; CREATE EXTENSION fencelock SCHEMA fences VERSION '$version'");
	is(value($node, "SELECT extversion FROM pg_extension WHERE extname = 'fencelock'", $db), $version, "$version is there");

	# Every function of that version, with the module of this one.
	$node->safe_psql($db, "
		SET search_path = public, fences;
		CREATE TABLE orders (id bigint PRIMARY KEY, status text);
		SELECT fence_attach('orders', 'order:{id}');
		CREATE TABLE rows (id bigint PRIMARY KEY, n int);
		SELECT fence_attach('rows', 'row:{id}', 'fence_token', 'mark=row', 'ties=reject');
		INSERT INTO rows VALUES (1, 1, 1);
		UPDATE rows SET fence_token = 2;
		CREATE ROLE app;
		SELECT fence_grant('app');
		SELECT fence_issue('order:1', 10);
		SELECT fence_issue('order:2', 5, 100, 'ticket');
		INSERT INTO orders VALUES (1, 'stamped', 3);
		BEGIN; SELECT fence_check('order:2', 101, 'me'); INSERT INTO orders VALUES (2, 'claimed'); COMMIT;
		BEGIN; SET LOCAL fencelock.claims = '{\"order:3\": 7}'; INSERT INTO orders VALUES (3, 'by setting'); COMMIT;
		SELECT fence_try('order:1', 2);
		SELECT fence_acquire('lease', 'me', '1 hour'), fence_renew('lease', 'me', 1, '2 hours');
		SELECT fence_acquire('ended', 'me', '1 hour'), fence_release('ended', 'me', 1);
		SELECT fence_token('order:1'), fence_history();
		CREATE TABLE undone (id int);
		SELECT fence_attach('undone', 'undone:{id}', NULL);
		SELECT fence_detach('undone')");
	is(value($node, "SELECT string_agg(format('%s:%s', id, fence_token), ' ' ORDER BY id) FROM orders", $db),
		'1:3 2:101 3:7', "$version runs with the module of $newest");
	is(sqlstate_of($node, "UPDATE orders SET fence_token = 2 WHERE id = 1", db => $db), 'LF001', "$version refuses");

	my $before = value($node, $data_query, $db);
	like(messages_of($node, 'ALTER EXTENSION fencelock UPDATE', db => $db),
		qr/WARNING:  roles that fence_grant was called for lack rights on new functions\nHINT:  Call fence_grant\('app'\)\./m,
		"$version: whose rights are to be completed is told");
	is(value($node, "SELECT extversion FROM pg_extension WHERE extname = 'fencelock'", $db), $newest,
		"$version is updated to $newest");
	is(value($node, $data_query, $db), $before, "$version: data, guards, marks and history are as they were");

	# Rights that were granted before stay, and are completed as it was told.
	is(sqlstate_of($node, 'SET ROLE app; SELECT fences.fence_receipt()', db => $db), '42501', "$version: a right is missing");
	is(value($node, "SELECT remedy FROM fences.fence_audit() WHERE finding LIKE 'role app %'", $db), "call fence_grant('app')",
		"$version: the audit tells it, too");
	$node->safe_psql($db, "SELECT fences.fence_grant('app')");
	is(sqlstate_of($node, 'SET ROLE app; SELECT fences.fence_receipt(), fences.fence_outcome($$1/2/3$$)', db => $db), '',
		"$version: one call completes them");
	is(value($node, "SELECT count(*) FROM fences.fence_audit() WHERE finding LIKE 'role app %'", $db), 0,
		"$version: and there is nothing more to tell");

	# They are all that may differ.
	$node->safe_psql($db, "DROP OWNED BY app; DROP ROLE app");
	my $updated = catalog_of($db);
	if ($updated eq $fresh) { pass("$version: the catalogs are those of a new installation"); }
	else
	{
		my %in_fresh = map { $_ => 1 } split /\n/, $fresh;
		my %in_updated = map { $_ => 1 } split /\n/, $updated;
		diag "only when updated: $_" foreach grep { !$in_fresh{$_} } sort keys %in_updated;
		diag "only when new: $_" foreach grep { !$in_updated{$_} } sort keys %in_fresh;
		fail("$version: the catalogs are those of a new installation");
	}

	# What the new version brings works on the old data.
	is(value($node, 'SELECT count(*) FROM fences.fence_attachment', $db), 2, "$version: the guards are listed");
	is(value($node, "SELECT fences.fence_prune('0')", $db), 3, "$version: idle resources are pruned");
	$node->safe_psql($db, "SELECT fences.fence_reset('order:3', 1)");
	is(value($node, "SELECT fences.fence_token('order:3')", $db), 1, "$version: a mark is reset");
	is(sqlstate_of($node, "UPDATE orders SET status = 'again', fence_token = 1 WHERE id = 3", db => $db), '',
		"$version: the guard goes on");
}

# Sessions that were there before the update go on.
{
	$node->safe_psql('postgres', 'CREATE DATABASE busy');
	$node->safe_psql('busy', "CREATE SCHEMA fences; CREATE EXTENSION fencelock SCHEMA fences VERSION '0.1.0'");
	my $session = PsqlSession->new($node, db => 'busy');
	$session->run("BEGIN; SELECT fences.fence_check('r', 5)");
	$node->safe_psql('busy', 'ALTER EXTENSION fencelock UPDATE');
	is($session->run("SELECT fences.fence_check('r', 5)"), 't', 'a claim made before the update goes on');
	$session->run('COMMIT');
	is($session->run("SELECT fences.fence_try('r', 4)"), 'f', 'and its session too');
	$session->close;
}

# pg_upgrade, to the same version, as another is not there.
SKIP:
{
	chomp(my $bindir = `pg_config --bindir`); # the one that the servers are from is first in PATH
	skip 'this PostgreSQL has no pg_upgrade', 1 unless -x "$bindir/pg_upgrade";
	my $old = new_server('old');
	my $new = new_server('new');
	$old->start;
	$old->safe_psql('postgres', "
		CREATE EXTENSION fencelock;
		CREATE TABLE orders (id bigint PRIMARY KEY, status text);
		SELECT fence_attach('orders', 'order:{id}')");
	my $token = next_token($old, 'order:1', 1000);
	$old->safe_psql('postgres', "INSERT INTO orders VALUES (1, 'new', $token)");
	is_new_history($old, 'old');
	$old->stop;
	my $dir = PostgreSQL::Test::Utils::tempdir;
	my @upgrade = ('pg_upgrade', '-b', $bindir, '-B', $bindir, '-d', $old->data_dir, '-D', $new->data_dir,
		'-p', $old->port, '-P', $new->port, '-s', $new->host);
	chdir $dir or die "cannot enter $dir: $!";
	command_ok([ @upgrade, '--check' ], 'pg_upgrade --check finds nothing');
	command_ok([@upgrade], 'pg_upgrade');
	chdir '/';
	$new->start;
	is(value($new, "SELECT fence_token('order:1')"), $token, 'upgraded: the mark is kept');
	is_live($new, 'upgraded');
	is_new_history($new, 'upgraded');
}

done_testing();
