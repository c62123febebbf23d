# A base backup restored to an earlier point issues no token that was issued after that point, and neither does a
# second restore of the same backup. What nothing inside the database can see, fence_new_generation makes good.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use Test::More;

my $node = new_server('original', allows_streaming => 1, has_archiving => 1);
$node->start;
$node->safe_psql('postgres', "
	CREATE EXTENSION fencelock;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}')");
next_token($node, 'order:1', 10);
$node->backup('base');
my $kept = next_token($node, 'order:1', 10);
$node->safe_psql('postgres', "INSERT INTO orders VALUES (1, 'kept', $kept)");
my $history = is_new_history($node, 'original');
$node->safe_psql('postgres', "SELECT pg_create_restore_point('here')");

my $undone = next_token($node, 'order:1', 1000);
$node->safe_psql('postgres', "UPDATE orders SET status = 'undone', fence_token = $undone");
my $segment = value($node, 'SELECT pg_walfile_name(pg_switch_wal())');
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';
$node->stop;

# Each has only the original's archive, and adds nothing to it: all end up on the same timeline.
my $restored;
foreach my $name ('first_restore', 'second_restore')
{
	wait_for_next_interval($restored) if defined $restored;
	$restored = PostgreSQL::Test::Cluster->new($name);
	$restored->init_from_backup($node, 'base', has_restoring => 1, standby => 0);
	$restored->append_conf('postgresql.conf', "
archive_mode = off
recovery_target_name = 'here'
recovery_target_action = 'promote'
");
	$restored->start;
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
	is(value($restored, "SELECT status FROM orders"), 'kept', "$name: is at the earlier point");
	is(value($restored, "SELECT fence_token('order:1')"), $kept, "$name: has the mark of that point");
	isnt(value($restored, "SELECT fence_history()"), $history, "$name: another history before it issues");
	is(sqlstate_of($restored, "SELECT fence_check('order:1', $undone)"), 'LF004',
		"$name: a token from after that point is refused");
	is_live($restored, $name);
	is_new_history($restored, $name);
}

# A copy of the files started as if nothing had happened: same system, same timeline.
{
	my $copy = PostgreSQL::Test::Cluster->new('copy');
	$copy->init_from_backup($node, 'base');
	$copy->append_conf('postgresql.conf', 'archive_mode = off');
	unlink $copy->data_dir . '/recovery.signal', $copy->data_dir . '/standby.signal';
	$copy->start;
	is(value($copy, 'SELECT fence_history()'), $history, 'a copy without a signal file cannot be told from its original');
	wait_for_next_interval($copy);
	$copy->safe_psql('postgres', 'SELECT fence_new_generation()');
	is_new_history($copy, 'the copy after fence_new_generation');
	next_token($copy, 'order:1', 1000);
}

done_testing();
