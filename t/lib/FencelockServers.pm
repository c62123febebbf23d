# What the tests in t/ share: servers with the extension in them, and the few questions that all of them ask.
# Parameters named $node are PostgreSQL::Test::Cluster objects, $db is the name of a database.
package FencelockServers;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_server start_new_server version_of value sqlstate_of messages_of next_token record_issue
  issued_by_all in_a_copy is_new_history is_live accepted_in_order wait_for_next_interval cut_streaming);

# Every block of tokens that a test was given, from whichever server: resource => [[first, last, where], ...].
my %issued_blocks;

# A cluster that is not started yet. Options are those of init(); "conf" holds lines for postgresql.conf.
sub new_server
{
	my ($name, %options) = @_;
	my $conf = delete $options{conf} // '';
	my $encoding = delete $options{encoding} // 'UTF8';
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%options, extra => [ '--no-locale', '-E', $encoding ]);
	# Logged in full, so that tests can read codes; autovacuum would make runs differ.
	$node->append_conf('postgresql.conf', "log_error_verbosity = verbose\nautovacuum = off\n$conf");
	return $node;
}

# The same, started, with the extension in database "postgres".
sub start_new_server
{
	my $node = new_server(@_);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION fencelock');
	return $node;
}

# The major version of PostgreSQL. The node must be running.
sub version_of { return int(value($_[0], 'SHOW server_version_num') / 10000); }

# The one value that a query returns. The test ends where it fails.
sub value
{
	my ($node, $sql, $db) = @_;
	my $value = $node->safe_psql($db // 'postgres', $sql);
	chomp $value;
	return $value;
}

# The SQLSTATE that the statements end with, '' where they succeed. Options: db, role.
sub sqlstate_of
{
	my ($node, $sql, %options) = @_;
	my $stderr = messages_of($node, "\\set VERBOSITY sqlstate\n$sql", %options);
	return $stderr =~ /(?:ERROR|FATAL):  ([0-9A-Z]{5})/ ? $1 : $stderr =~ /ERROR|FATAL/ ? $stderr : '';
}

# All that the statements say: errors, warnings, notices.
sub messages_of
{
	my ($node, $sql, %options) = @_;
	my $stderr;
	my @as = defined $options{role} ? (extra_params => [ '-U', $options{role} ]) : ();
	$node->psql($options{db} // 'postgres', $sql, stderr => \$stderr, on_error_die => 0, @as);
	return $stderr;
}

# Issues a block of tokens and returns its first. Fails where it overlaps, or is not above, any that was issued
# before, by any server of this test.
sub next_token
{
	my ($node, $resource, $n, $db) = @_;
	$n //= 1;
	my $first = value($node, "SELECT fence_issue('$resource', $n)", $db);
	record_issue($node, $resource, $first, $n);
	return $first;
}

# The same for tokens that came otherwise, as from fence_acquire.
sub record_issue
{
	my ($node, $resource, $first, $n) = @_;
	$n //= 1;
	my $highest = issued_by_all($resource);
	cmp_ok($first, '>', $highest, "tokens of $resource from " . $node->name . " lie above all before");
	push @{ $issued_blocks{$resource} }, [ $first, $first + $n - 1, $node->name ];
	return;
}

# The highest token of the resource that any server of this test has issued; 0 where there is none.
sub issued_by_all
{
	my ($resource) = @_;
	my $highest = 0;
	foreach my $block (@{ $issued_blocks{$resource} // [] })
	{
		$highest = $block->[1] if $block->[1] > $highest;
	}
	return $highest;
}

# Runs tests on one of several copies of a database, which live side by side: what is issued there does not bind the
# next copy.
sub in_a_copy(&)
{
	my ($tests) = @_;
	my %before = map { $_ => [ @{ $issued_blocks{$_} } ] } keys %issued_blocks;
	$tests->();
	%issued_blocks = %before;
	return;
}

my %histories;

# The id of the database's history is one that this test has not met yet; remembers it.
sub is_new_history
{
	my ($node, $what, $db) = @_;
	my $history = value($node, 'SELECT fence_history()', $db);
	ok(!exists $histories{$history}, "$what: another history");
	$histories{$history} = $what;
	return $history;
}

# A database with table orders(id, status, fence_token), guarded as 'order:{id}', accepts a write with a new token
# and refuses one with a token of its past.
sub is_live
{
	my ($node, $what, $db) = @_;
	my $old = issued_by_all('order:1');
	my $token = next_token($node, 'order:1', 1, $db);
	is(sqlstate_of($node, "UPDATE orders SET status = '$what', fence_token = $token WHERE id = 1", db => $db),
		'', "$what: a write with the new token is accepted");
	is(value($node, "SELECT status || ' ' || fence_token FROM orders WHERE id = 1", $db),
		"$what $token", "$what: and is there");
	is(sqlstate_of($node, "UPDATE orders SET status = 'stale', fence_token = $old WHERE id = 1", db => $db),
		'LF001', "$what: a write with an earlier token is stale");
	is(sqlstate_of($node, "UPDATE orders SET status = 'unfenced' WHERE id = 1", db => $db),
		'LF002', "$what: a write without a token is refused");
	return $token;
}

# Table accepted(position, token, and what names the resource) holds what a load saw accepted: of each resource no token
# below an earlier one, and enough of them to tell.
sub accepted_in_order
{
	my ($node, $resource) = @_;
	is(value($node, "
		SELECT count(*) FROM (
			SELECT token < max(token) OVER (PARTITION BY $resource ORDER BY position) AS fell FROM accepted) a
		WHERE fell"), 0, 'no lower token was accepted after a higher one');
	cmp_ok(value($node, 'SELECT count(*) FROM accepted'), '>', 100, '(many were accepted)');
	return;
}

# Generations are numbered by intervals of 10 seconds where nothing else tells two histories apart: waits for the
# next interval.
sub wait_for_next_interval
{
	my ($node) = @_;
	my $now = value($node, 'SELECT floor(extract(epoch FROM clock_timestamp()) / 10)');
	$node->poll_query_until('postgres', "SELECT floor(extract(epoch FROM clock_timestamp()) / 10) > $now")
	  or die 'the clock stands still';
	return;
}

# From now on the standbys receive nothing more of what their primary writes.
sub cut_streaming
{
	my (@standbys) = @_;
	foreach my $standby (@standbys)
	{
		$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
		$standby->reload;
	}
	foreach my $standby (@standbys)
	{
		$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver')
		  or die 'the standby goes on receiving';
	}
	return;
}

1;
