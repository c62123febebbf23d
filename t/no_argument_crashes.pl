# No argument of any function, template, guard or setting crashes the server or meets an error that PostgreSQL calls
# internal (class XX): random hostile ones, in databases of three encodings. FENCELOCK_SEED repeats a run.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = 35_000;                        # in each of the three databases
my $seed = $ENV{FENCELOCK_SEED} // 0.2026; # of PostgreSQL's random(): from -1 to 1
note "seed $seed, $calls calls in each database";

my $node = new_server('fuzz', conf => "fsync = off\nshared_preload_libraries = 'fencelock'\nlog_min_messages = fatal\n"
	  . "log_statement = none\nmax_locks_per_transaction = 1000\n");
$node->start;
my $started = value($node, 'SELECT pg_postmaster_start_time()');

my $fuzzer = slurp_file("$FindBin::RealBin/lib/fuzz.sql");

my $number = 0;
foreach my $encoding ('UTF8', 'SQL_ASCII', 'LATIN1')
{
	my $db = lc $encoding;
	$node->safe_psql('postgres', "CREATE DATABASE $db ENCODING '$encoding' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
	$node->safe_psql($db, "CREATE EXTENSION fencelock; $fuzzer");

	my $seed_here = $seed / ++$number; # another series for each
	my ($status, $stdout, $stderr) =
	  $node->psql($db, "SET client_min_messages = error; CALL fuzz($calls, $seed_here)");
	is($status, 0, "$encoding: all calls came back") or diag $stderr;
	is(value($node, "SELECT string_agg(format('%s %s', code, example), E'\\n') FROM met WHERE code ~ '^(XX|F0)'", $db),
		'', "$encoding: no internal error");
	note value($node, "SELECT string_agg(format('%s %s', code, times), ', ' ORDER BY times DESC) FROM met", $db);
	foreach my $code (qw(LF001 LF002 LF003 LF004 22023 22004 2200H 42703 55000))
	{
		cmp_ok(value($node, "SELECT coalesce((SELECT times FROM met WHERE code = '$code'), 0)", $db), '>', 0,
			"$encoding: (met $code)");
	}
	is(value($node, "SELECT count(*) FROM fence_resource WHERE octet_length(resource) > 1024 OR mark < 0", $db), 0,
		"$encoding: no row is out of bounds");
	is(value($node, "SELECT count(*) FROM fence_issuer WHERE issued < first OR first < 1", $db), 0,
		"$encoding: no reservation is out of bounds");
	is(sqlstate_of($node, "SELECT fence_check('still there', fence_issue('still there'))", db => $db), '',
		"$encoding: the database goes on");
}

is(value($node, 'SELECT pg_postmaster_start_time()'), $started, 'the server was never restarted');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|was terminated by signal|reinitializing/, 'and no process of it has crashed');

done_testing();
