# A database copied by CREATE DATABASE ... TEMPLATE issues tokens of its own, and so does its original.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use Test::More;

my $node = start_new_server('clones');
$node->safe_psql('postgres', "
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fence_attach('orders', 'order:{id}')");
my $token = next_token($node, 'order:1', 100);
$node->safe_psql('postgres', "INSERT INTO orders VALUES (1, 'new', $token)");
my $history = is_new_history($node, 'original');

# A copy, and a copy of that copy.
my $template = 'postgres';
foreach my $clone ('first_clone', 'second_clone')
{
	my $mark = value($node, "SELECT fence_token('order:1')", $template);
	$node->safe_psql('template1', "CREATE DATABASE $clone TEMPLATE $template");
	is_new_history($node, "$clone before it issues", $clone);
	is(value($node, "SELECT fence_token('order:1')", $clone), $mark, "$clone: has its template's mark");
	is_live($node, $clone, $clone);
	is_new_history($node, $clone, $clone);
	$template = $clone;
}

is(value($node, 'SELECT fence_history()'), $history, 'the original goes on in its history');
is(value($node, "SELECT fence_issue('order:1')"), $token + 100, 'and with its tokens');

done_testing();
