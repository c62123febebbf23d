# fence_prune beside checks, issues and leases: the floor never lets a lower token in, no running lease and no row that
# somebody holds is pruned, and no token is issued twice.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

my $node = start_new_server('prune', conf => "max_connections = 40\nfsync = off\n");

# Counted elsewhere: never issued here, and below any floor to come.
$node->safe_psql('postgres', "SELECT fence_check('outside', 7)");

# A prune that has not committed yet.
{
	my $first = value($node, "SELECT fence_issue('late', 100)");
	my $prune = PsqlSession->new($node);
	$prune->run('BEGIN');
	is($prune->run("SELECT fence_prune('0')"), 1, 'an idle resource is pruned');
	# No mark yet, so there is no row to lock: the holder of a token from the middle of the block comes through.
	my $token = $first + 49;
	is(value($node, "SELECT fence_check('late', $token)"), 't', 'a check beside an open prune is not refused');
	$prune->run('COMMIT');
	is(value($node, "SELECT fence_token('late')"), $token, 'its mark stays');
	cmp_ok(value($node, "SELECT fence_issue('late')"), '>', $first + 99,
		'what is issued then lies above all that was issued before the prune');
	$prune->close;
}

# Rows that may not go.
$node->safe_psql('postgres', "SELECT fence_check('held', fence_issue('held'))");
my $leased = value($node, "SELECT fence_acquire('leased', 'owner', '1 hour')");
my $claimed = value($node, "SELECT fence_issue('claimed')");
my $holder = PsqlSession->new($node);
$holder->run('BEGIN');
$holder->run("SELECT fence_check('held', fence_token('held'))");
$holder->run("SELECT fence_check('claimed', $claimed)");

# What the load writes down of itself. The position is taken while the claim is held.
$node->safe_psql('postgres', "
	CREATE TABLE issued (resource text, token bigint, PRIMARY KEY (resource, token));
	CREATE SEQUENCE position;
	CREATE TABLE accepted (position bigint, resource text, token bigint);
	CREATE TABLE lost_lease (resource text, token bigint);
	CREATE FUNCTION accept(resource text, token bigint) RETURNS boolean LANGUAGE plpgsql AS \$\$
	BEGIN
		IF NOT fence_try(resource, token) THEN
			RETURN false;
		END IF;
		INSERT INTO accepted VALUES (nextval('position'), resource, token);
		RETURN true;
	END \$\$;
	CREATE FUNCTION keep_lease(resource text, owner text) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		token bigint := fence_acquire(resource, owner, '1 hour');
	BEGIN
		INSERT INTO issued VALUES (resource, token);
	END \$\$");

# The block is written down only once it is committed, as its tokens may be used only then. Every token of it is tried:
# in order, and now and then the first once more, which has been overtaken by then.
my $issue_and_check = q{
\set id random(1, 4)
SELECT fence_issue('r:' || :id, 3) AS first \gset
INSERT INTO issued SELECT 'r:' || :id, :first + n FROM generate_series(0, 2) n;
SELECT accept('r:' || :id, :first);
SELECT accept('r:' || :id, :first + 2);
SELECT accept('r:' || :id, :first + 1);
};
my $lease = q{
SELECT keep_lease('lease:' || :client_id, 'owner');
INSERT INTO lost_lease SELECT 'lease:' || :client_id, max(token) FROM issued
	WHERE resource = 'lease:' || :client_id
	HAVING NOT fence_renew('lease:' || :client_id, 'owner', max(token), '1 hour');
SELECT fence_release('lease:' || :client_id, 'owner', max(token)) FROM issued
	WHERE resource = 'lease:' || :client_id;
};
my $prune = q{
SELECT fence_prune('0');
};
$node->pgbench('--no-vacuum --client=8 --jobs=2 --transactions=400',
	0, [qr{processed: 3200/3200}], [qr{^(?!.*ERROR)}s],
	'issues, checks and leases go on beside prunes',
	{ 'issue@6' => $issue_and_check, 'lease@2' => $lease, 'prune@2' => $prune });

accepted_in_order($node, 'resource');
cmp_ok(value($node, "SELECT mark FROM fence_resource WHERE resource = ''"), '>', 0, '(and pruned: there is a floor)');
is(value($node, 'SELECT count(*) FROM lost_lease'), 0, 'no running lease was lost');

is(value($node, "SELECT fence_renew('leased', 'owner', $leased, '1 hour')"), 't', 'nor one that nobody renewed');
is($holder->run("SELECT count(*) FROM fence_resource WHERE resource IN ('held', 'claimed')"), 2,
	'a row that a transaction holds is not pruned');
is($holder->run('COMMIT'), '', 'the holder commits');
is($holder->sqlstate, '', 'without an error');
is(value($node, "SELECT mark FROM fence_resource WHERE resource = 'outside'"), 7,
	'a resource that was never issued here stays');
$holder->close;

# All idle now: nothing but the floor remains, and it stands for all of them. A check that came beside a prune may have
# left a mark whose issues are gone; such a one stays until tokens are issued for it again.
$node->safe_psql('postgres', "SELECT fence_issue('r:' || n) FROM generate_series(1, 4) AS n");
$node->safe_psql('postgres', "SELECT fence_release('leased', 'owner', $leased)");
$node->safe_psql('postgres', "SELECT fence_prune('0')");
is(value($node, 'SELECT string_agg(resource, $$,$$ ORDER BY resource) FROM fence_resource'), ',outside',
	'once idle all are pruned');
is(value($node, 'SELECT count(*) FROM fence_issuer'), 0, 'their issues too');
my $highest = value($node, "SELECT max(token) FROM issued");
is(sqlstate_of($node, "SELECT fence_check('r:1', $highest - 1)"), 'LF001', 'an old token stays stale');
cmp_ok(value($node, "SELECT fence_issue('r:1')"), '>', $highest, 'and a new one lies above all of them');

done_testing();
