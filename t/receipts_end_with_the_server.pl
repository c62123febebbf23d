# A receipt tells what became of a transaction as long as that can be known, and nothing afterwards: a crash forgets the
# ids of transactions that reached no disk, and hands them out again.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

# A writer that sleeps as long as it can: what is not flushed at commit stays unflushed.
my $node = start_new_server('primary', allows_streaming => 1,
	conf => "synchronous_commit = off\nwal_writer_delay = 10s\nrestart_after_crash = on\n");
$node->safe_psql('postgres', 'CREATE TABLE written (n int)');

sub outcome
{
	my ($on, $receipt) = @_;
	return value($on, "SELECT coalesce(fence_outcome('$receipt'), 'unknown')");
}

# A transaction that wrote and has not ended; the session and its receipt.
sub begun
{
	my ($on) = @_;
	my $session = PsqlSession->new($on);
	return ($session, $session->run('BEGIN; INSERT INTO written VALUES (1); SELECT fence_receipt()'));
}

my ($session, $receipt) = begun($node);
is(outcome($node, $receipt), 'in progress', 'a transaction that is open is in progress');
my $pid = $session->pid;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
is(outcome($node, $receipt), 'aborted', 'one whose session was ended is aborted');

my $committed = value($node, 'BEGIN; INSERT INTO written VALUES (1); SELECT fence_receipt(); COMMIT');
is(outcome($node, $committed), 'committed', 'one that committed is committed');
$node->reload;
is(outcome($node, $committed), 'committed', 'also after a reload');

# Nobody's word counts after a crash of one backend either: all shared memory begins anew, in the same server.
($session, $receipt) = begun($node);
$pid = $session->pid;
kill 'KILL', $pid;
ok($node->poll_query_until('postgres', "SELECT fence_outcome('$committed') IS NULL"),
	'after a crash it is not known what had committed');
is(outcome($node, $receipt), 'unknown', 'nor of what was open');

# The id of the lost transaction is in use again, by another one that commits: this is why.
my ($lost) = $receipt =~ m{(\d+)$};
my $again = value($node, 'BEGIN; INSERT INTO written VALUES (2); SELECT fence_receipt(); COMMIT');
my ($reused) = $again =~ m{(\d+)$};
while ($reused < $lost)
{
	$again = value($node, 'BEGIN; INSERT INTO written VALUES (2); SELECT fence_receipt(); COMMIT');
	($reused) = $again =~ m{(\d+)$};
}
is(outcome($node, $again), 'committed', 'one that committed after the crash is committed');
is(outcome($node, $receipt), 'unknown', 'and says nothing of the one before, which may have had its id');

$receipt = value($node, 'BEGIN; INSERT INTO written VALUES (3); SELECT fence_receipt(); COMMIT');
$node->restart;
is(outcome($node, $receipt), 'unknown', 'a restart ends what is known');

# A standby, and what it becomes.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$receipt = value($node, 'BEGIN; INSERT INTO written VALUES (4); SELECT fence_receipt(); COMMIT');
$node->wait_for_catchup('standby', 'replay', $node->lsn('insert'));
is(outcome($standby, $receipt), 'unknown', 'a standby is not asked');
is(sqlstate_of($standby, 'SELECT fence_receipt()'), '25006', 'and gives no receipt');
$node->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is(outcome($standby, $receipt), 'unknown', 'nor when it has become the primary');

done_testing();
