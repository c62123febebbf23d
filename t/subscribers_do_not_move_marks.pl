# A logical replication subscriber, with a real subscription.
#
# What holds, for the manual:
# - An ordinary guard does not fire for what is replicated: rows arrive, marks do not move. A stale token that comes to
#   the subscriber directly is therefore let in, unless fence_resource and fence_issuer are replicated too.
# - A guard that is ENABLE ALWAYS fires for what is replicated. An arriving row presents the token in its token column, so
#   marks move; a row without a token, and every DELETE, presents none: replication stops with LF002 until the guard is an
#   ordinary one again. It goes on by itself then, and nothing is lost.
# - With both tables replicated (and their rows), marks and issues are those of the publisher, as far as they came. Before
#   the switch-over call fence_new_generation(): issues that did not arrive are then never repeated.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = new_server('publisher', allows_streaming => 'logical');
my $subscriber = new_server('subscriber', allows_streaming => 'logical');
my $schema = "
	CREATE EXTENSION fencelock;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}');";
foreach my $node ($publisher, $subscriber)
{
	$node->append_conf('postgresql.conf', "wal_retrieve_retry_interval = 100ms\nmax_logical_replication_workers = 8\n");
	$node->start;
	$node->safe_psql('postgres', $schema);
}

sub caught_up
{
	my ($name) = @_;
	$publisher->wait_for_catchup($name);
	$subscriber->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')")
	  or die 'the first copy does not end';
	$publisher->wait_for_catchup($name);
	return;
}
my $mark = "SELECT coalesce(fence_token('order:1'), 0)";
my $order = "SELECT string_agg(format('%s %s', status, fence_token), ', ') FROM orders WHERE id = 1";

# The table alone. The first copy is a COPY and fires no ordinary trigger either.
$publisher->safe_psql('postgres', "
	INSERT INTO orders VALUES (1, 'new', fence_issue('order:1', 10));
	CREATE PUBLICATION writes FOR TABLE orders");
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION writes CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION writes");
caught_up('writes');
$publisher->safe_psql('postgres', "UPDATE orders SET status = 'sent', fence_token = 5 WHERE id = 1");
caught_up('writes');
is(value($subscriber, $order), 'sent 5', 'an ordinary guard: a write arrives');
is(value($subscriber, $mark), 0, 'an ordinary guard: the mark does not move');
is(sqlstate_of($subscriber, "UPDATE orders SET status = 'stale', fence_token = 4 WHERE id = 1"), '',
	'an ordinary guard: a token that is stale at the publisher is let in');
$subscriber->safe_psql('postgres', "SELECT fence_reset('order:1', 0)");
$publisher->safe_psql('postgres', "BEGIN; SELECT fence_check('order:1', 5); DELETE FROM orders WHERE id = 1; COMMIT");
caught_up('writes');
is(value($subscriber, 'SELECT count(*) FROM orders'), 0, 'an ordinary guard: a DELETE arrives');

# ENABLE ALWAYS.
$subscriber->safe_psql('postgres', 'ALTER TABLE orders ENABLE ALWAYS TRIGGER zz_fence_guard');
$publisher->safe_psql('postgres', "INSERT INTO orders VALUES (1, 'again', 6), (2, 'other', 1)");
caught_up('writes');
is(value($subscriber, $order), 'again 6', 'an ALWAYS guard: an INSERT arrives');
is(value($subscriber, $mark), 6, 'an ALWAYS guard: its token is the mark');
$publisher->safe_psql('postgres', "UPDATE orders SET status = 'moved', fence_token = 7 WHERE id = 1");
$publisher->safe_psql('postgres', "BEGIN; SELECT fence_check('order:1', 7); UPDATE orders SET status = 'claimed' WHERE id = 1; COMMIT");
caught_up('writes');
is(value($subscriber, $order), 'claimed 7', 'an ALWAYS guard: an UPDATE arrives, by stamp and by claim');
is(value($subscriber, $mark), 7, 'an ALWAYS guard: the mark follows');
is(sqlstate_of($subscriber, "UPDATE orders SET status = 'stale', fence_token = 6 WHERE id = 1"), 'LF001',
	'an ALWAYS guard: a stale token is refused');

my $log = -s $subscriber->logfile;
$publisher->safe_psql('postgres', "BEGIN; SELECT fence_check('order:2', 1); DELETE FROM orders WHERE id = 2; COMMIT");
$subscriber->wait_for_log(qr/ERROR:  LF002: no fencing token presented for resource "order:2"/, $log);
pass('an ALWAYS guard: a DELETE stops the replication with LF002');
is(value($subscriber, 'SELECT count(*) FROM orders WHERE id = 2'), 1, 'an ALWAYS guard: and is not done');
$subscriber->safe_psql('postgres', 'ALTER TABLE orders ENABLE TRIGGER zz_fence_guard');
caught_up('writes');
is(value($subscriber, 'SELECT count(*) FROM orders WHERE id = 2'), 0, 'an ordinary guard again: the replication goes on');

# A mark that is already higher here stops it as well: what arrives is measured.
$subscriber->safe_psql('postgres', "
	ALTER TABLE orders ENABLE ALWAYS TRIGGER zz_fence_guard;
	SELECT fence_check('order:1', 9)");
$log = -s $subscriber->logfile;
$publisher->safe_psql('postgres', "UPDATE orders SET status = 'late', fence_token = 8 WHERE id = 1");
$subscriber->wait_for_log(qr/ERROR:  LF001: fencing token 8 is stale, below the mark 9/, $log);
pass('an ALWAYS guard: what is stale here stops the replication with LF001');
$subscriber->safe_psql('postgres', 'ALTER TABLE orders ENABLE TRIGGER zz_fence_guard');
caught_up('writes');
is(value($subscriber, $order), 'late 8', 'an ordinary guard again: it arrives');

# Both tables too, into a subscriber that starts from nothing.
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION writes');
$subscriber->safe_psql('postgres', "CREATE DATABASE successor");
$subscriber->safe_psql('successor', $schema);
$publisher->safe_psql('postgres', "CREATE PUBLICATION whole FOR TABLE orders, fence_resource, fence_issuer");
$subscriber->safe_psql('successor',
	"CREATE SUBSCRIPTION whole CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION whole");
sub whole_caught_up
{
	$publisher->wait_for_catchup('whole');
	$subscriber->poll_query_until('successor', "SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')")
	  or die 'the first copy does not end';
	$publisher->wait_for_catchup('whole');
	return;
}
whole_caught_up();

# First rows, raises, owners, savepoints that are undone, leases, prunes: all that writes these tables.
$publisher->safe_psql('postgres', "SELECT fence_issue('pruned'), fence_check('pruned', 1); SELECT fence_prune('0')");
my $first = next_token($publisher, 'order:1', 10);
$publisher->safe_psql('postgres', "
	UPDATE orders SET status = 'known', fence_token = $first WHERE id = 1;
	SELECT fence_check('first', 1003, 'owner'), fence_check('counted', 1000);
	SELECT count(*) FROM (SELECT fence_check('counted', n) FROM generate_series(1001, 1100) n) c;
	BEGIN; SELECT fence_check('counted', 1101); SAVEPOINT s; SELECT fence_check('counted', 1102), fence_check('undone', 1000);
	ROLLBACK TO s; COMMIT;
	SELECT fence_acquire('leased', 'me', '1 hour')");
whole_caught_up();
foreach my $table ('fence_resource', 'fence_issuer', 'orders')
{
	my $rows = "SELECT string_agg(t::text, E'\\n' ORDER BY t::text) FROM $table t";
	is(value($subscriber, $rows, 'successor'), value($publisher, $rows), "both tables: $table is the publisher's");
}
is(sqlstate_of($subscriber, "UPDATE orders SET status = 'stale', fence_token = 8 WHERE id = 1", db => 'successor'), 'LF001',
	'both tables: a stale token is refused');
is(value($subscriber, "SELECT fence_token('counted') || ' ' || fence_token('first')", 'successor'), '1101 1003',
	'both tables: the marks are the publisher\'s');

# The switch-over, with issues that did not arrive.
$subscriber->safe_psql('successor', 'ALTER SUBSCRIPTION whole DISABLE');
$subscriber->poll_query_until('successor', "SELECT count(*) = 0 FROM pg_stat_subscription WHERE subname = 'whole' AND pid IS NOT NULL")
  or die 'the subscription goes on';
my $lost = next_token($publisher, 'order:1', 1000);
is_new_history($publisher, 'publisher');
$publisher->stop('immediate');
$subscriber->safe_psql('successor', "ALTER SUBSCRIPTION whole SET (slot_name = NONE); DROP SUBSCRIPTION whole");
cmp_ok(value($subscriber, 'SELECT fence_new_generation()', 'successor'), '>', 0, 'switched over: a new generation');
is(sqlstate_of($subscriber, "SELECT fence_check('order:1', $lost)", db => 'successor'), 'LF004',
	'switched over: a token that did not arrive is refused');
is_live($subscriber, 'switched over', 'successor');
is_new_history($subscriber, 'switched over', 'successor');

done_testing();
