# With synchronous_commit off PostgreSQL may lose what it has just committed, but never a token that it has issued.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

# A writer that sleeps as long as it can: what is not flushed at commit stays unflushed.
my $node = start_new_server('crash', conf => "synchronous_commit = off\nwal_writer_delay = 10s\n");
$node->safe_psql('postgres', 'CREATE TABLE lost (n int)');
my $history = is_new_history($node, 'before any crash');

my $unflushed = 'SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()';
my %issue = (
	fence_issue => "SELECT fence_issue('issue', 10)",
	'fence_issue in a block' => "BEGIN; SELECT fence_issue('block', 10); COMMIT",
	fence_acquire => "SELECT fence_acquire('acquire', 'me', '1 hour')",
	'a refused fence_issue beside' =>
	  "BEGIN; SAVEPOINT s; SELECT fence_issue('undone'); ROLLBACK TO s; SELECT fence_issue('beside', 10); COMMIT",);
my %size = (fence_acquire => 1);

foreach my $what (sort keys %issue)
{
	my $resource = ($issue{$what} =~ /.*fence_\w+\('(\w+)'/)[0];
	my $session = PsqlSession->new($node);

	# An ordinary commit is not flushed. The writer may be awake by chance, so this is tried until it is seen.
	my $tries = 0;
	do { $session->run('INSERT INTO lost VALUES (1)') }
	  until $session->run($unflushed) eq 't' || ++$tries == 1000;
	cmp_ok($tries, '<', 1000, "$what: an ordinary commit is left unflushed");

	my $first = (split /\n/, $session->run($issue{$what}))[-1];
	$node->stop('immediate');
	record_issue($node, $resource, $first, $size{$what} // 10);
	$node->start;

	next_token($node, $resource);
	is(value($node, "SELECT fence_try('$resource', $first)"), 'f', "$what: the reservation before is retired");
	is(value($node, 'SELECT fence_history()'), $history, "$what: a crash starts no other history");
}

# The holder whose lease survived still has it.
my $token = value($node, "SELECT fence_acquire('kept', 'me', '1 hour')");
$node->stop('immediate');
$node->start;
is(value($node, "SELECT fence_renew('kept', 'me', $token, '1 hour')"), 't', 'a lease survives a crash');
is(value($node, "SELECT fence_acquire('kept', 'me', '1 hour')"), $token, 'its owner gets the same token');
is(value($node, "SELECT coalesce(fence_acquire('kept', 'you', '1 hour')::text, 'busy')"), 'busy', 'nobody else gets it');

# A generation started by hand is not forgotten either.
my $generation = value($node, 'SELECT fence_new_generation()');
$node->stop('immediate');
$node->start;
is(value($node, 'SELECT max(generation) FROM fence_history_state'), $generation, 'a generation started by hand survives');
is_new_history($node, 'after fence_new_generation');

done_testing();
