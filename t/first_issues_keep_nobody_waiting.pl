# Nobody who issues in a new database waits for the first one who did and has not finished: neither for its commit nor
# for its rollback. What a copy has to know of a history was written when the extension was created.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use PsqlSession;
use Test::More;

my $node = start_new_server('first');
my $history = is_new_history($node, 'new');

# Whoever had to wait for the first would fail by this limit, since that ends only after them.
my $first = PsqlSession->new($node);
my $second = PsqlSession->new($node, settings => { lock_timeout => '30s' });
$first->run('BEGIN');
is($first->run("SELECT fence_issue('one', 5)"), 1, 'the first issue stays open');
is($second->run("SELECT fence_issue('two')"), 1, 'another resource gets its token');
is($second->run("SELECT fence_acquire('three', 'me', '1 hour')"), 1, 'and its lease');
is($second->run("SELECT fence_prune('1 hour')"), 0, 'nor does a prune wait');
is($second->run('SELECT fence_history()'), $history, 'in the history that there was');
is($first->run('ROLLBACK'), '', 'the first one comes to nothing');
is($second->run("SELECT fence_issue('two')"), 2, 'and tokens go on');

# A generation that is begun by hand is above it.
is(value($node, 'SELECT fence_new_generation() > 0'), 't', 'a generation by hand is above the first');
isnt(value($node, 'SELECT fence_history()'), $history, 'and another history');
is(value($node, "SELECT fence_issue('two') > 1 << 24"), 't', 'whose tokens are above all others');
$_->close foreach ($first, $second);

# A dump from before the first issue, whose tokens another database has issued since: its data alone, with triggers off,
# into a schema that was made from it.
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', 'CREATE EXTENSION fencelock');
my $dir = PostgreSQL::Test::Utils::tempdir;
$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', "$dir/schema.sql", '--schema-only' ], 'the schema');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', "$dir/data.dump", '-Fc', '--data-only' ], 'the data');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', "$dir/inserts.sql", '--inserts' ], 'all as INSERTs');
is(next_token($node, 'order:1', 1000, 'source'), 1, 'the original issues');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', "$dir/schema.sql" ],
	'the schema is restored');
$node->command_ok(
	[ 'pg_restore', '-d', $node->connstr('copy'), '--exit-on-error', '--disable-triggers', "$dir/data.dump" ],
	'the data is restored past triggers');
in_a_copy { next_token($node, 'order:1', 1000, 'copy') };
is_new_history($node, 'the copy', 'copy');

# The same as INSERTs, of which there are none for a table without rows, so that no trigger tells anything.
$node->safe_psql('postgres', 'CREATE DATABASE inserted');
$node->command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('inserted'), '-f', "$dir/inserts.sql" ],
	'the INSERTs are restored');
next_token($node, 'order:1', 1000, 'inserted');
is_new_history($node, 'inserted', 'inserted');

done_testing();
