# A primary goes on while a standby of it has been promoted, and is asked for tokens above those of the new one, as by a
# client that has met both: neither repeats what the other has issued.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use Test::More;

my $former = new_server('former', allows_streaming => 1);
$former->start;
$former->safe_psql('postgres', 'CREATE EXTENSION fencelock');
next_token($former, 'order:1', 10);
$former->backup('base');
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init_from_backup($former, 'base', has_streaming => 1);
$new->start;
$former->wait_for_catchup('new', 'replay', $former->lsn('write'));
cut_streaming($new);
$new->promote;

# The new one's generation is numbered by the interval of the clock in which it issues first. Where that is over before
# the former primary is asked, the machine is slow: then it is tried again, in the next one.
my $message = '';
foreach my $try (1 .. 5)
{
	if ($try > 1)
	{
		wait_for_next_interval($new);
		value($new, 'SELECT fence_new_generation()');
	}
	my $seen = next_token($new, 'order:1', 10);
	$message = messages_of($former, "SELECT fence_issue('order:1', 1, $seen)");
	last if $message ne '';
	record_issue($former, 'order:1', value($former, "SELECT issued FROM fence_issuer WHERE resource = 'order:1'"));
}
like($message, qr/cannot issue tokens of resource "order:1" above \d+ yet/, 'the former primary does not issue beside the new one');
like($message, qr/can go on in (\d+) seconds/, 'and says for how long');
next_token($new, 'order:1');

# What needs no higher token is issued as before, and after that time all is, by both.
record_issue($former, 'lease', value($former, "SELECT fence_acquire('lease', 'me', '1 hour')"));
wait_for_next_interval($former);
my $seen = issued_by_all('order:1');
record_issue($former, 'order:1', value($former, "SELECT fence_issue('order:1', 10, $seen)"), 10);
wait_for_next_interval($new);
$seen = issued_by_all('order:1');
record_issue($new, 'order:1', value($new, "SELECT fence_issue('order:1', 10, $seen)"), 10);

done_testing();
