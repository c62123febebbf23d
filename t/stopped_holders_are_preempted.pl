# fencelock.preempt_after: a newer token that has waited so long ends the session that holds an older one, be it idle in
# its transaction. Nobody else is ended: no holder of the same or of a newer token, and nobody for a token that is
# stale itself or was never issued.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use PsqlSession;
use Test::More;

my $node = start_new_server('preempt', conf => "max_prepared_transactions = 5\n");

# A holder with a transaction open, in which it has claimed a token.
sub holder_of
{
	my ($resource, $token, %options) = @_;
	my $session = PsqlSession->new($node, %options);
	$session->run('BEGIN');
	is($session->run("SELECT fence_check('$resource', $token)"), 't', "$resource: token $token is claimed");
	return $session;
}
# One that waits a millisecond and no longer.
sub impatient
{
	return PsqlSession->new($node, settings => { 'fencelock.preempt_after' => '1ms' }, @_);
}
sub is_ended
{
	my ($session, $what) = @_;
	$session->run('SELECT 1');
	is($session->sqlstate, '57P01', "$what: its session was ended");
	return;
}
sub goes_on
{
	my ($session, $what) = @_;
	is($session->run('COMMIT'), '', "$what: goes on");
	is($session->sqlstate, '', "$what: and commits");
	$session->close;
	return;
}

# The case that it is made for.
{
	my $bystander = holder_of('another', 1);
	my $holder = holder_of('idle', 33);
	my $waiter = impatient();
	my $log = -s $node->logfile;
	is($waiter->run("SELECT fence_check('idle', 34)"), 't', 'idle in transaction: the newer token is accepted');
	is_ended($holder, 'idle in transaction');
	goes_on($bystander, 'a holder of another resource');
	my $pid = $holder->pid;
	like(slurp_file($node->logfile, $log),
		qr/LOG: .*ended the session with PID $pid: its transaction \d+ held fencing token 33 while token 34 had waited for 1 ms/,
		'idle in transaction: the log names both tokens');
	is(value($node, "SELECT fence_token('idle')"), 34, 'idle in transaction: the mark is raised');
	$waiter->close;
}

# Busy ones, those in a savepoint, and all of those that share a token.
{
	my $holder = holder_of('busy', 1);
	$holder->send('SELECT pg_sleep(1000)');
	my $waiter = impatient();
	is($waiter->run("SELECT fence_check('busy', 2)"), 't', 'busy: the newer token is accepted');
	$holder->result;
	is($holder->sqlstate, '57P01', 'busy: its session was ended');

	$holder = PsqlSession->new($node);
	$holder->run("BEGIN; SAVEPOINT a; SAVEPOINT b; SELECT fence_check('savepoint', 1); RELEASE b");
	is($waiter->run("SELECT fence_check('savepoint', 2)"), 't', 'in a savepoint: the newer token is accepted');
	is_ended($holder, 'in a savepoint');

	$node->safe_psql('postgres', "SELECT fence_check('shared', 5)");
	my @sharers = map { holder_of('shared', 5) } 1 .. 3;
	is($waiter->run("SELECT fence_check('shared', 6)"), 't', 'shared: the newer token is accepted');
	is_ended($_, 'shared') foreach @sharers;

	# A write of the very row that the holder has written waits for that row before any trigger runs, so nothing of
	# fencelock can act for it. A claim can: who claims first is never kept waiting.
	$node->safe_psql('postgres', "
		CREATE TABLE orders (id int PRIMARY KEY, status text);
		SELECT fence_attach('orders', 'order:{id}');
		INSERT INTO orders VALUES (1, 'new', 1)");
	$holder = PsqlSession->new($node);
	$holder->run("BEGIN; UPDATE orders SET status = 'held', fence_token = 2 WHERE id = 1");
	my $writer = impatient();
	$writer->send("UPDATE orders SET status = 'done', fence_token = 3 WHERE id = 1");
	$writer->wait_until_blocked($node);
	is($waiter->run("SELECT fence_check('order:1', 3)"), 't', 'a write: the claim of its token is accepted');
	is_ended($holder, 'a write');
	$writer->result;
	is($writer->sqlstate, '', 'a write: is accepted then');
	is(value($node, 'SELECT status FROM orders'), 'done', 'a write: is there');

	# Another row of the resource, which the holder has not written.
	$node->safe_psql('postgres', "
		CREATE TABLE items (order_id int, item int);
		SELECT fence_attach('items', 'order:{order_id}');
		INSERT INTO items VALUES (1, 1, 3)");
	$holder = holder_of('order:1', 3);
	$waiter->run("UPDATE items SET item = 2, fence_token = 4");
	is($waiter->sqlstate, '', 'a write beside: the newer token is accepted');
	is_ended($holder, 'a write beside');
	$_->close foreach ($waiter, $writer);
}

# Whoever holds the same token, is newer, or is asked to go for a token that is refused.
{
	my $holder = holder_of('equal', 7);
	my $waiter = impatient();
	$waiter->send("SELECT fence_check('equal', 7)");
	$waiter->wait_until_blocked($node);
	goes_on($holder, 'equal tokens: the holder');
	is($waiter->result, 't', 'equal tokens: the waiter is accepted then');

	$holder = holder_of('newer', 9);
	$waiter->run("SELECT fence_check('newer', 8)");
	is($waiter->sqlstate, 'LF001', 'stale: an older token does not wait');
	goes_on($holder, 'stale: the holder of a newer token');

	my $first = value($node, "SELECT fence_issue('issued', 10)");
	$holder = holder_of('issued', $first);
	$waiter->run("SELECT fence_check('issued', $first + 10)");
	is($waiter->sqlstate, 'LF004', 'never issued: it does not wait');
	goes_on($holder, 'never issued: the holder of an issued token');

	value($node, "SELECT fence_issue('retired', 10)");
	$holder = holder_of('retired', 5);
	value($node, "SELECT fence_issue('retired', 10)");
	$waiter->run("SELECT fence_check('retired', 6)");
	is($waiter->sqlstate, 'LF001', 'retired: it does not wait');
	goes_on($holder, 'retired: the holder');

	# One who waits himself, with a newer token.
	$node->safe_psql('postgres', "SELECT fence_check('queue', 1)");
	$holder = holder_of('queue', 1);
	my $newest = PsqlSession->new($node);
	$newest->send("SELECT fence_check('queue', 3)");
	$newest->wait_until_blocked($node);
	$waiter->run("SELECT fence_check('queue', 2)");
	is($waiter->sqlstate, 'LF001', 'overtaken: a token below one that waits is stale');
	goes_on($holder, 'overtaken: the holder');
	is($newest->result, 't', 'overtaken: the one that waited is accepted');
	$_->close foreach ($newest, $waiter);
}

# Without the setting nobody is ended.
{
	my $holder = holder_of('off', 1);
	my $waiter = PsqlSession->new($node);
	$waiter->send("SELECT fence_check('off', 2)");
	$waiter->wait_until_blocked($node);
	goes_on($holder, 'off: the holder');
	is($waiter->result, 't', 'off: the newer token is accepted then');
	$waiter->close;
}

# A prepared transaction has no session.
{
	my $holder = holder_of('prepared', 1);
	$holder->run("PREPARE TRANSACTION 'forgotten'");
	my $waiter = impatient();
	$waiter->send("SELECT fence_check('prepared', 2)");
	$waiter->wait_until_blocked($node);
	is($holder->run("ROLLBACK PREPARED 'forgotten'"), '', 'prepared: is ended by hand alone');
	is($waiter->result, 't', 'prepared: the newer token is accepted then');
	like($waiter->messages,
		qr/WARNING: .*fencing token 2 waits for a prepared transaction with token 1.*pg_prepared_xacts/s,
		'prepared: the waiter was told the cause');
	$_->close foreach ($holder, $waiter);
}

# A prune is no holder. It has deleted the row that the newer token waits for. (In a database of its own, for the floor
# that it leaves.)
{
	$node->safe_psql('postgres', 'CREATE DATABASE pruned');
	$node->safe_psql('pruned', 'CREATE EXTENSION fencelock');
	my $first = value($node, "SELECT fence_issue('pruned', 10)", 'pruned');
	$node->safe_psql('pruned', "SELECT fence_check('pruned', $first)");
	my $prune = PsqlSession->new($node, db => 'pruned');
	$prune->run("BEGIN; SELECT fence_prune('0')");
	my $waiter = impatient(db => 'pruned');
	$waiter->send("SELECT fence_check('pruned', $first + 1)");
	my ($prune_pid, $waiter_pid) = ($prune->pid, $waiter->pid);
	$node->poll_query_until('postgres', "
		SELECT bool_or(pid = $waiter_pid AND wait_event_type = 'Lock') OR NOT bool_or(pid = $prune_pid)
		FROM pg_stat_activity") or die 'the check does not wait for the prune';
	goes_on($prune, 'fence_prune');
	$waiter->result;
	is($waiter->sqlstate, 'LF001', 'fence_prune: a token below the floor that it leaves is stale');
	$waiter->close;
}

# An issue or a lease in a transaction that is left open.
foreach my $call ("fence_issue('open')", "fence_acquire('open', 'me', '1 hour')")
{
	my $holder = PsqlSession->new($node);
	$holder->run("BEGIN; SELECT $call");
	my $waiter = impatient();
	$waiter->send("SELECT fence_issue('open')");
	my $holder_pid = $holder->pid;
	ok( $node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $holder_pid"),
		"$call left open: does not keep others waiting") or $holder->run('ROLLBACK');
	cmp_ok($waiter->result, '>', 0, "$call left open: another gets a token");
	is_ended($holder, "$call left open");
	$waiter->close;
}

# The setting is the superuser's, whose grant of it works for others.
{
	$node->safe_psql('postgres', "CREATE ROLE app LOGIN; SELECT fence_grant('app')");
	# Before the module is loaded PostgreSQL takes any value for a name with a dot, and drops it when the module comes.
	like(messages_of($node, "SET fencelock.preempt_after = '1ms'; SELECT fence_check('plain', 1)", role => 'app'),
		qr/WARNING:  permission denied to set parameter "fencelock.preempt_after"/, 'a plain role cannot set it');
	is(sqlstate_of($node, "SELECT fence_check('plain', 1); SET fencelock.preempt_after = '1ms'", role => 'app'), '42501',
		'nor once the module is loaded');
	is(sqlstate_of($node, "ALTER ROLE app SET fencelock.preempt_after = '1ms'", role => 'app'), '42501',
		'nor for its later sessions');
	my $holder = holder_of('by role', 1, role => 'app');
	$node->safe_psql('postgres', "ALTER ROLE app SET fencelock.preempt_after = '1ms'");
	my $later = PsqlSession->new($node, role => 'app');
	is($later->run("SELECT fence_check('by role', 2)"), 't', 'set for the role by a superuser, it works');
	is_ended($holder, 'a holder of the same role');
	$later->close;
}

# What was true when the wait began need not be true when the time is over.
{
	my $patient = sub { PsqlSession->new($node, settings => { 'fencelock.preempt_after' => '3s', @_ }) };
	my $holder = holder_of('raised', 6);
	my $waiter = $patient->();
	$waiter->send("SELECT fence_check('raised', 7)");
	$waiter->wait_until_blocked($node);
	is($holder->run("SELECT fence_check('raised', 9)"), 't', 'a holder that is the newer one by now: raises its token');
	$waiter->result;
	is($waiter->sqlstate, 'LF001', 'a holder that is the newer one by now: the waiter is refused');
	goes_on($holder, 'a holder that is the newer one by now');

	my $first = value($node, "SELECT fence_issue('outdated', 10)");
	$holder = holder_of('outdated', $first);
	$waiter->send("SELECT fence_check('outdated', $first + 1)");
	$waiter->wait_until_blocked($node);
	$node->safe_psql('postgres', "SELECT fence_issue('outdated', 10)");
	$waiter->result;
	is($waiter->sqlstate, 'LF001', 'a waiter that was retired by now: is refused');
	goes_on($holder, 'the holder before a waiter that was retired by now');
	$waiter->close;
}

# The server's own ways to end a wait come first.
{
	my $holder = holder_of('timed', 1);
	my $waiter = PsqlSession->new($node, settings => { 'fencelock.preempt_after' => '1h', lock_timeout => '1ms' });
	$waiter->run("SELECT fence_check('timed', 2)");
	is($waiter->sqlstate, '55P03', 'lock_timeout: ends the wait');
	goes_on($holder, 'lock_timeout: the holder');
	$waiter->close;

	# A guard does not name the resource to a role that may not read what it is made of. The log does.
	$node->safe_psql('postgres', "
		CREATE TABLE patients (id int, secret text, fence_token bigint);
		SELECT fence_attach('patients', 'secret:{secret}');
		INSERT INTO patients VALUES (1, 'diagnosis', 1);
		CREATE ROLE writer LOGIN;
		GRANT SELECT (id), UPDATE (fence_token) ON patients TO writer");
	$holder = holder_of('secret:diagnosis', 2);
	$waiter = PsqlSession->new($node, role => 'writer', settings => { lock_timeout => '1ms' });
	my $log = -s $node->logfile;
	$waiter->run('UPDATE patients SET fence_token = 3 WHERE id = 1');
	is($waiter->sqlstate, '55P03', 'lock_timeout, a role that may not read: ends the wait');
	like($waiter->messages, qr/CONTEXT:  .*while fencing token 3 for this row of table "patients" waits/s, 'and is told what waited');
	unlike($waiter->messages, qr/diagnosis/, 'but not the name');
	like(slurp_file($node->logfile, $log), qr/DETAIL: .*The resource is "secret:diagnosis", its mark is 2\./, 'which the log has');
	goes_on($holder, 'lock_timeout, a role that may not read: the holder');
	$waiter->close;

	my @both = map { PsqlSession->new($node, settings => { 'fencelock.preempt_after' => '1h', deadlock_timeout => '1ms' }) } 1 .. 2;
	$both[$_]->run("BEGIN; SELECT fence_check('crossed $_', 1)") foreach 0, 1;
	$both[0]->send("SELECT fence_check('crossed 1', 2)");
	$both[0]->wait_until_blocked($node);
	$both[1]->run("SELECT fence_check('crossed 0', 2)");
	my $second = $both[1]->sqlstate;
	$both[1]->run('ROLLBACK');
	$both[0]->result;
	is(join(' ', sort grep { $_ } $both[0]->sqlstate, $second), '40P01', 'claims in opposite order: one of them is a deadlock');
	$_->close foreach @both;
}

done_testing();
