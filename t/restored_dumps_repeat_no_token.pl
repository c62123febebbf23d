# A dump restored into another cluster, into the same one, into another schema, as a schema and then its data, or as
# data into a schema in use: what is issued then was never issued before, and the marks that the dump has are kept.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('original');
$node->start;
my $other = new_server('other');
$other->start;
my $dir = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', "
	CREATE EXTENSION fencelock;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}')");
my $mark = next_token($node, 'order:1', 100, 'shop');
$node->safe_psql('shop', "
	INSERT INTO orders VALUES (1, 'dumped', $mark);
	SELECT fence_check('counted:elsewhere', 77, 'its owner')");
my $history = is_new_history($node, 'original', 'shop');

sub dump_shop
{
	my ($file, @options) = @_;
	$node->command_ok([ 'pg_dump', '-d', $node->connstr('shop'), '-f', "$dir/$file", @options ], "pg_dump @options");
	return;
}
sub restore_custom
{
	my ($to, $db, $file, @options) = @_;
	$node->command_ok([ 'pg_restore', '-d', $to->connstr($db), '--exit-on-error', @options, "$dir/$file" ],
		"pg_restore @options");
	return;
}
dump_shop('shop.dump', '-Fc');
dump_shop('shop.sql');
dump_shop('schema.sql', '--schema-only');
dump_shop('data.sql', '--data-only');
dump_shop('data.dump', '-Fc', '--data-only');

# What the original goes on to issue.
next_token($node, 'order:1', 1000, 'shop');

my $dumped = "dumped $mark";

sub is_good_restore
{
	my ($at, $what, $db) = @_;
	is(value($at, "SELECT status || ' ' || fence_token FROM orders", $db), $dumped, "$what: the data is there");
	is(value($at, "SELECT fence_token('order:1') || ' ' || fence_token('counted:elsewhere')", $db), "$mark 77",
		"$what: the marks are kept");
	is(sqlstate_of($at, "SELECT fence_check('counted:elsewhere', 77, 'another')", db => $db), 'LF003',
		"$what: with their owners");
	isnt(value($at, 'SELECT fence_history()', $db), $history, "$what: another history before it issues");
	is_live($at, $what, $db);
	is_new_history($at, $what, $db);
	return;
}

# Whole, into another cluster.
in_a_copy {
	$other->safe_psql('postgres', 'CREATE DATABASE shop');
	restore_custom($other, 'shop', 'shop.dump');
	is_good_restore($other, 'another cluster', 'shop');
};

# The schema, and then its data. Guards would measure the rows that come in, so they are off meanwhile, and so is the
# trigger of the extension that sees such a restore: it is recognised all the same.
in_a_copy {
	$other->safe_psql('postgres', 'CREATE DATABASE parts');
	$other->command_ok(
		[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $other->connstr('parts'), '-f', "$dir/schema.sql" ],
		'the schema alone');
	restore_custom($other, 'parts', 'data.dump', '--disable-triggers');
	is_good_restore($other, 'schema, then data', 'parts');
	my $weakened = "FROM fence_audit() WHERE finding LIKE 'trigger fence_renew_stamp %'";
	my $remedy = value($other, "SELECT remedy $weakened", 'parts');
	like($remedy, qr/ENABLE ALWAYS TRIGGER/, 'fence_audit tells that --disable-triggers has weakened a trigger');
	$other->safe_psql('parts', $remedy =~ s/;.*//r);
	is(value($other, "SELECT count(*) $weakened", 'parts'), 0, 'and what it says mends it');
};

# In several jobs, each of which loads a table.
in_a_copy {
	$other->safe_psql('postgres', 'CREATE DATABASE jobs');
	restore_custom($other, 'jobs', 'shop.dump', '--jobs=3');
	is_good_restore($other, 'in jobs', 'jobs');
};

# Into another schema: the text of the dump, with the schema's name replaced.
in_a_copy {
	my $text = slurp_file("$dir/shop.sql");
	$text =~ s/\bpublic\b/fences/g;
	append_to_file("$dir/fences.sql", "CREATE SCHEMA fences;\n$text");
	$node->safe_psql('postgres', 'CREATE DATABASE fences');
	$node->command_ok(
		[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('fences'), '-f', "$dir/fences.sql" ],
		'the schema is renamed');
	$node->safe_psql('postgres', 'ALTER DATABASE fences SET search_path = fences');
	is_good_restore($node, 'another schema', 'fences');
};

# Into the database that it was dumped from, where all was dropped and made anew. No trigger has told anything, neither
# before the dump nor after it.
in_a_copy {
	$node->safe_psql('shop', 'DROP TABLE orders; DROP EXTENSION fencelock');
	$node->command_ok(
		[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('shop'), '-f', "$dir/schema.sql" ],
		'the schema anew, in place');
	restore_custom($node, 'shop', 'data.dump', '--disable-triggers');
	is_good_restore($node, 'dropped and restored in place', 'shop');
};

# Under the name of what it was dumped from.
$node->safe_psql('postgres', 'DROP DATABASE shop');
$node->safe_psql('postgres', 'CREATE DATABASE shop');
restore_custom($node, 'shop', 'shop.dump');
is_good_restore($node, 'same name', 'shop');

# Data alone, into a schema in use. The guard measures what is loaded, so old rows do not come back under it.
{
	my $before = value($node, 'SELECT status FROM orders', 'shop');
	$node->safe_psql('shop', 'DELETE FROM fence_resource');
	my $messages = messages_of($node, "\\i $dir/data.sql", db => 'shop');
	like($messages, qr/ERROR:  .*(LF00|fencing token|duplicate key)/, 'data alone: the guard is in the way of it');
	is(value($node, 'SELECT status FROM orders', 'shop'), $before, 'data alone: the table is as it was');
}

# A dump of the very database that it comes back to: system, timeline and database are those of the dump.
is_live($node, 'before the second dump', 'shop');
$mark = value($node, "SELECT fence_token('order:1')", 'shop');
$dumped = value($node, "SELECT status || ' ' || fence_token FROM orders", 'shop');
$node->safe_psql('shop', "SELECT fence_check('counted:elsewhere', 77, 'its owner')");
$history = value($node, 'SELECT fence_history()', 'shop');
dump_shop('schema.dump', '-Fc', '--schema-only');
dump_shop('data.dump', '-Fc', '--data-only');
next_token($node, 'order:1', 1000, 'shop');

# As somebody does it who wants the old state back: empties the extension's tables and switches triggers off.
wait_for_next_interval($node);
$node->safe_psql('shop', "
	TRUNCATE fence_resource, fence_issuer, fence_history_state;
	SET fencelock.enforce = off;
	TRUNCATE orders");
restore_custom($node, 'shop', 'data.dump', '--disable-triggers');
is_good_restore($node, 'old data into a live schema', 'shop');

# The same, but nobody empties anything: all of it was pruned, so that only the floor stands in the way. The row of the
# history cannot be loaded beside the one that is there.
$node->safe_psql('shop', "
	DELETE FROM fence_resource WHERE resource = 'counted:elsewhere';
	SELECT fence_prune('0');
	SET fencelock.enforce = off;
	TRUNCATE orders");
is(value($node, "SELECT count(*) FROM fence_issuer", 'shop'), 0, '(all was pruned)');
$node->command_fails(
	[ 'pg_restore', '-d', $node->connstr('shop'), '--disable-triggers', "$dir/data.dump" ],
	'pg_restore --data-only --disable-triggers beside what is there');
is(value($node, "SELECT status || ' ' || fence_token FROM orders", 'shop'), $dumped,
	'old data after a prune: the data is there');
is_live($node, 'old data after a prune', 'shop');

done_testing();
