# Asynchronous standbys are promoted without the last issues of their primary, one after the other: no token is ever
# issued twice, and none goes down. There is no archive from which a standby could learn of another's timeline.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', "
	CREATE EXTENSION fencelock;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}')");
$primary->backup('base');

sub new_standby
{
	my ($name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->start;
	return $standby;
}
my ($one, $two, $three) = map { new_standby($_) } qw(one two three);

# What the standbys see.
my $seen = next_token($primary, 'order:1', 10);
$primary->safe_psql('postgres', "INSERT INTO orders VALUES (1, 'new', $seen)");
record_issue($primary, 'lease', value($primary, "SELECT fence_acquire('lease', 'me', '1 hour')"));
my $history = is_new_history($primary, 'primary');
$primary->wait_for_catchup($_->name, 'replay', $primary->lsn('write')) foreach ($one, $two, $three);

# What they miss.
cut_streaming($one, $two, $three);
my $lost = next_token($primary, 'order:1', 1000);
$primary->safe_psql('postgres', "UPDATE orders SET status = 'lost', fence_token = $lost");
$primary->safe_psql('postgres', "SELECT fence_release('lease', 'me', 1)");
record_issue($primary, 'lease', value($primary, "SELECT fence_acquire('lease', 'you', '1 hour')"));
$primary->stop('immediate');

# The survivor has what it has seen, and issues above what it has not.
sub is_good_successor
{
	my ($node, $what) = @_;
	is(value($node, "SELECT fence_token('order:1')"), $seen, "$what: has the mark that it has seen");
	is(sqlstate_of($node, "SELECT fence_check('order:1', $lost)"), 'LF004',
		"$what: a token of which it knows nothing is refused");
	my $token = is_live($node, $what);
	is(sqlstate_of($node, "SELECT fence_check('order:1', $lost)"), 'LF001', "$what: and is stale later");
	is(value($node, "SELECT fence_token('order:1')"), $token, "$what: the mark is the new token");
	# Its lease was given away on the old primary, so the holder whom the survivor remembers gets another token.
	record_issue($node, 'lease', value($node, "SELECT fence_acquire('lease', 'me', '1 hour')"));
	is_new_history($node, $what);
	return;
}

$one->promote;
is_good_successor($one, 'first promoted');

# The third follows the first to its timeline, but misses what the first issues from then on.
$three->append_conf('postgresql.conf', "primary_conninfo = '" . $one->connstr . " application_name=three'");
$three->reload;
$one->wait_for_catchup('three', 'replay', $one->lsn('write'));
my $seen_by_three = value($three, "SELECT fence_token('order:1')");
cut_streaming($three);
my $lost_by_three = next_token($one, 'order:1', 1000);
$one->stop('immediate');

# The second knows nothing of the first: both are timeline 2 after the same primary, and only the time tells them apart.
wait_for_next_interval($two);
$two->promote;
is_good_successor($two, 'second promoted');
$two->stop('immediate');

$three->promote;
is(value($three, "SELECT fence_token('order:1')"), $seen_by_three, 'third promoted: has the mark that it has seen');
is(sqlstate_of($three, "SELECT fence_check('order:1', $lost_by_three)"), 'LF004',
	'third promoted: a token of which it knows nothing is refused');
wait_for_next_interval($three);
is_live($three, 'third promoted');
is_new_history($three, 'third promoted');

done_testing();
