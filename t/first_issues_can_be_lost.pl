# Copies of a database that were made before it issued anything know nothing of its tokens: a standby that misses the
# very first issue, a dump, a database made from a template. None of them begins with 1 as well.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION fencelock');
my $history = is_new_history($primary, 'primary');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('write'));
cut_streaming($standby);

my $dump = PostgreSQL::Test::Utils::tempdir . '/unissued.sql';
$primary->command_ok([ 'pg_dump', '-d', $primary->connstr('postgres'), '-f', $dump ], 'a dump before the first issue');
$primary->safe_psql('template1', 'CREATE DATABASE copied TEMPLATE postgres');

is(next_token($primary, 'order:1', 1000), 1, 'tokens of a new installation begin with 1');
is(value($primary, 'SELECT fence_history()'), $history, 'in the history that it was installed in');

is_new_history($primary, 'copied by template', 'copied');
in_a_copy { next_token($primary, 'order:1', 1000, 'copied') };

$primary->safe_psql('template1', 'CREATE DATABASE restored');
$primary->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $primary->connstr('restored'), '-f', $dump ],
	'the dump is restored');
is_new_history($primary, 'restored', 'restored');
in_a_copy { next_token($primary, 'order:1', 1000, 'restored') };

$primary->stop('immediate');
$standby->promote;
is_new_history($standby, 'promoted');
next_token($standby, 'order:1', 1000);
next_token($standby, 'order:1', 1000);

done_testing();
