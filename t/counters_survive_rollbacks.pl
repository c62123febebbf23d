# fence_stat counts refusals although each of them rolls its transaction back, for each database apart, where the module
# is preloaded or PostgreSQL is 17 or newer; elsewhere it says that it counts nothing.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

my $counters = 'accepted, advanced, stale, unfenced, conflicts, not_issued, waits';

sub counters_of
{
	my ($node, $db) = @_;
	return value($node, "SELECT $counters FROM fence_stat WHERE datname = '$db'", $db);
}

# One of each kind, in a database with the extension.
sub use_all
{
	my ($node, $db) = @_;
	$node->safe_psql($db, "
		CREATE TABLE orders (id int PRIMARY KEY, status text);
		SELECT fence_attach('orders', 'order:{id}')");
	# accepted 3, of these 2 raise the mark
	$node->safe_psql($db, "BEGIN; SELECT fence_check('r', 5), fence_check('r', 5); COMMIT");
	$node->safe_psql($db, "SELECT fence_check('r', 5, 'me')");
	$node->safe_psql($db, "INSERT INTO orders VALUES (1, 'new', 1)");
	# stale 3
	is(sqlstate_of($node, "SELECT fence_check('r', 4)", db => $db), 'LF001', "$db: stale");
	is(value($node, "SELECT fence_try('r', 4)", $db), 'f', "$db: stale, tried");
	is(sqlstate_of($node, "BEGIN; SELECT fence_check('order:1', 2); UPDATE orders SET fence_token = 1", db => $db),
		'LF001', "$db: stale, and what was accepted before it is rolled back"); # accepted and advanced 1 more
	# unfenced 2
	is(sqlstate_of($node, "DELETE FROM orders", db => $db), 'LF002', "$db: unfenced");
	$node->safe_psql($db, "SET fencelock.enforce = 'warn'; DELETE FROM orders");
	# conflicts 1
	is(sqlstate_of($node, "SELECT fence_check('r', 5, 'another')", db => $db), 'LF003', "$db: conflict");
	# not_issued 1
	my $token = value($node, "SELECT fence_issue('issued')", $db);
	is(sqlstate_of($node, "SELECT fence_check('issued', $token + 1)", db => $db), 'LF004', "$db: not issued");
	# waits 1; accepted and advanced 2 more
	my ($holder, $waiter) = map { PsqlSession->new($node, db => $db) } 1 .. 2;
	$holder->run("BEGIN; SELECT fence_check('waited', 1)");
	$waiter->send("SELECT fence_check('waited', 2)");
	$waiter->wait_until_blocked($node);
	$holder->run('COMMIT');
	is($waiter->result, 't', "$db: waited");
	$_->close foreach ($holder, $waiter);
	return;
}
my $all = '6|5|3|2|1|1|1';

my $node = new_server('counting', conf => "shared_preload_libraries = 'fencelock'\n");
$node->start;
foreach my $db ('one', 'two')
{
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION fencelock');
	unlike(messages_of($node, 'TABLE fence_stat', db => $db), qr/NOTICE/, "$db: preloaded, it has nothing to say");
	is(counters_of($node, $db), '0|0|0|0|0|0|0', "$db: starts from nothing");
}
use_all($node, 'one');
is(counters_of($node, 'one'), $all, 'one: all are counted');
is(counters_of($node, 'two'), '0|0|0|0|0|0|0', 'two: has counters of its own');
use_all($node, 'two');
is(counters_of($node, 'two'), $all, 'two: all are counted');
is(counters_of($node, 'one'), $all, 'one: not for another database');
is(value($node, "SELECT $counters FROM fence_stat WHERE datname = 'one'", 'two'), $all,
	'one database shows the counters of the others');
is(value($node, 'SELECT bool_and(stats_reset BETWEEN pg_postmaster_start_time() AND now()) FROM fence_stat', 'one'), 't',
	'they say since when');
is(value($node, "SELECT count(*) FROM fence_audit() WHERE finding LIKE '%preload%'", 'one'), 0, 'the audit is content');

# A dropped database is not shown, and its counters are no other's.
$node->safe_psql('postgres', 'DROP DATABASE two');
is(value($node, "SELECT string_agg(datname, ' ' ORDER BY datname) FROM fence_stat", 'one'), 'one',
	'a dropped database is gone');
$node->safe_psql('postgres', 'CREATE DATABASE two');
$node->safe_psql('two', 'CREATE EXTENSION fencelock');
is(counters_of($node, 'two'), '0|0|0|0|0|0|0', 'its successor of the same name starts from nothing');

# They do not survive the server.
my $since = value($node, "SELECT stats_reset FROM fence_stat WHERE datname = 'one'", 'one');
$node->restart;
is(counters_of($node, 'one'), '0|0|0|0|0|0|0', 'a restart starts from nothing');
isnt(value($node, "SELECT stats_reset FROM fence_stat WHERE datname = 'one'", 'one'), $since, 'and says so');

# Not preloaded.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
my $messages = messages_of($node, 'TABLE fence_stat', db => 'one');
if (version_of($node) >= 17)
{
	unlike($messages, qr/NOTICE/, '17 and newer: not preloaded, it has nothing to say');
	use_all($node, 'two');
	is(counters_of($node, 'two'), $all, '17 and newer: all are counted all the same');
}
else
{
	like($messages, qr/NOTICE:  fencelock counts nothing.*shared_preload_libraries/s,
		'before 17: not preloaded, it says so and what to do');
	value($node, "SELECT fence_check('r', 6)", 'one');
	is(counters_of($node, 'one'), '0|0|0|0|0|0|0', 'before 17: it shows zeros');
	is(value($node, 'SELECT stats_reset IS NULL FROM fence_stat', 'one'), 't', 'before 17: since never');
}
is(value($node, "SELECT count(*) FROM fence_audit() WHERE finding LIKE '%preload%'", 'one'), 1, 'the audit says it too');

done_testing();
