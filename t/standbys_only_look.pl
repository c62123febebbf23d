# On a hot standby one can look, and nothing else: the mark, the guarded tables, the audit. All else says that the
# server is read-only (25006), and leaves nothing behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1, conf => "shared_preload_libraries = 'fencelock'\n");
$primary->start;
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', "
	CREATE EXTENSION fencelock;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}');
	INSERT INTO orders VALUES (1, 'new', fence_issue('order:1'));
	SELECT fence_acquire('leased', 'me', '1 hour')");
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('write'));

is(value($standby, "SELECT fence_token('order:1')"), 1, 'fence_token shows the mark');
is(value($standby, "SELECT fence_token('unknown') IS NULL"), 't', 'and NULL where there is none');

# Follows the primary, through marks that replace each other in place and through vacuum.
$primary->safe_psql('postgres', "
	SELECT count(*) FROM (SELECT fence_check('hot', n) FROM generate_series(1, 500) n) c;
	VACUUM fence_resource;
	SELECT fence_check('hot', 501)");
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('write'));
is(value($standby, "SELECT fence_token('hot')"), 501, 'fence_token follows the primary');
is(value($standby, "SELECT count(*) FROM generate_series(1, 1000) WHERE fence_token('hot') = 501"), 1000, 'often');

is(value($standby, 'SELECT target || $$ $$ || resource FROM fence_attachment'), 'orders order:{id}',
	'fence_attachment shows the guards');
is(value($standby, 'SELECT count(*) FROM fence_audit()'), 0, 'fence_audit finds nothing');
is(value($standby, "SELECT count(*) FROM fence_stat WHERE datname = 'postgres'"), 1, 'fence_stat can be read');
is(value($standby, 'SELECT count(*) FROM fence_resource'), 2, 'and so can the tables');

foreach my $call (
	"fence_check('order:1', 2)", "fence_check('order:1', 1)", "fence_check('new', 1, 'me')",
	"fence_try('order:1', 2)", "fence_try('order:1', 0)",
	"fence_issue('order:1')", "fence_issue('new', 10, 5, 'ticket')",
	"fence_acquire('leased', 'me', '1 hour')", "fence_acquire('new', 'me', '1 hour')",
	"fence_renew('leased', 'me', 1, '1 hour')", "fence_release('leased', 'me', 1)",
	"fence_history()", "fence_new_generation()",
	"fence_prune('0')", "fence_reset('order:1', 0)",
	"fence_attach('orders', 'order:{id}', 'fence_token', 'ties=reject')", "fence_detach('orders')",
	"fence_grant('postgres')")
{
	is(sqlstate_of($standby, "SELECT $call"), '25006', "$call is refused as read-only");
}
is(sqlstate_of($standby, "UPDATE orders SET fence_token = 2"), '25006', 'and so is a write');
is(sqlstate_of($standby, "SET fencelock.claims = '{\"order:1\": 2}'; SELECT fence_token('order:1')"), '',
	'the setting may be set: it writes nothing by itself');
is(value($standby, "SELECT fence_token('order:1')"), 1, 'the mark is as it was');

# Once promoted, a session that looked before may write.
my $session = PsqlSession->new($standby);
is($session->run("SELECT fence_token('order:1')"), 1, 'a session looks on the standby');
$standby->promote;
cmp_ok($session->run("SELECT fence_issue('order:1')"), '>', 1 << 24, 'and issues in a new generation once it is promoted');
is($session->sqlstate, '', 'without an error');
$session->close;

done_testing();
