# A role with fence_grant can present and issue tokens, and nothing else; others can do nothing. Nothing that a role can
# create changes a verdict: no search_path, no operator, cast or function of its own, no temporary table of the same name.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FencelockServers;
use PsqlSession;
use Test::More;

my $node = new_server('roles');
$node->start;
# Whoever may create in public is the hostile one here.
$node->safe_psql('postgres', "
	CREATE SCHEMA fences;
	CREATE EXTENSION fencelock SCHEMA fences;
	CREATE ROLE app LOGIN;
	CREATE ROLE other LOGIN;
	CREATE ROLE table_owner LOGIN;
	GRANT CREATE ON SCHEMA public TO PUBLIC;
	SELECT fences.fence_grant('app');
	GRANT USAGE ON SCHEMA fences TO other, table_owner;
	CREATE TABLE orders (id bigint PRIMARY KEY, status text);
	SELECT fences.fence_attach('orders', 'order:{id}');
	GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO app, other;
	CREATE TABLE unguarded (id bigint);
	ALTER TABLE unguarded OWNER TO table_owner");

sub as_role { my ($role, $sql) = @_; return sqlstate_of($node, $sql, role => $role); }

# Every function of the extension has a place in one of these lists.
my %for_applications = (
	"fence_check('r', 1)" => '', "fence_try('r', 1)" => '', "fence_token('r')" => '', "fence_issue('i')" => '',
	"fence_acquire('l', 'me', '1 hour')" => '', "fence_renew('l', 'me', 1, '1 hour')" => '',
	"fence_release('l', 'me', 1)" => '', "fence_history()" => '',
	"fence_receipt()" => '', "fence_outcome('1/2/3')" => '');
my @for_nobody = (
	"fence_attach('orders', 'x:{id}')", "fence_attach('unguarded', 'x:{id}')", "fence_detach('orders')", "fence_grant('other')", "fence_prune('0')", "fence_reset('r', 0)",
	"fence_new_generation()", "fence_audit()", "fence_stat_counters()", "fence_validate_guard('orders'::regclass, '{}')",
	"fence_guard_oid()", "fence_guard_name('orders')", "fence_require_one_row('orders', '{}')",
	"fence_guard_argument('{}', 'a', 'b')", "fence_guard_arguments('')", "fence_may_set(10, 'a')",
	"fence_is_guarded('orders'::regclass)", "fence_unguarded_children('orders')", "fence_raise_mark('r', 1)", "fence_own_mark('r')", "fence_rows_of('orders')",
	"fence_raise_marks('orders', 'fence_token', '{}')", "fence_raise_rows('orders', 'fence_token', '1')",
	"fence_resource_name('orders'::regclass, '{}', ROW(1))", "fence_carry_marks('orders', '{}', '{}')", "fence_end_guards('orders', '{}')", "fence_require_guardable('orders', 'x', true, true)", "fence_is_template_elsewhere('orders', 'x', true)", "fence_template_shape('x')",
	"fence_grant_functions('other', '{fence_issue}')", "fence_grant_guards('other')", "fence_outdated_grants()",
	"fence_guard_problem(NULL, '{}')", "fence_guard_partitions()", "fence_tell_unguarded()", "fence_guard()", "fence_renew_stamp()", "fence_refuse_write()");
my %tried = map { /^(\w+)/; $1 => 1 } (keys %for_applications, @for_nobody);
is(value($node, "
	SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'fences'::regnamespace
	AND NOT proname = ANY ('{" . join(',', sort keys %tried) . "}')"), '', 'every function is tried below');

foreach my $call (sort keys %for_applications)
{
	is(as_role('app', "SELECT fences.$call"), '', "an application may call $call");
	is(as_role('other', "SELECT fences.$call"), '42501', "others may not call $call");
}
foreach my $call (@for_nobody)
{
	is(as_role($_, "SELECT fences.$call"), '42501', "$_ may not call $call") foreach ('app', 'other');
}
foreach my $table (qw(fence_resource fence_issuer fence_history_state fence_issuer_stamp fence_stat fence_attachment))
{
	foreach my $what ("SELECT 1 FROM fences.$table", "BEGIN; LOCK fences.$table IN EXCLUSIVE MODE",
		"SELECT 1 FROM fences.$table FOR UPDATE")
	{
		is(as_role('app', $what), '42501', "an application may not $what");
	}
	next if $table =~ /stat$|attachment/;
	is(as_role('app', $_), '42501', "an application may not $_")
	  foreach ("DELETE FROM fences.$table", "TRUNCATE fences.$table", "INSERT INTO fences.$table DEFAULT VALUES", "VACUUM fences.$table; DROP TABLE fences.$table");
}
is(as_role('app', 'DROP EXTENSION fencelock'), '42501', 'nor drop the extension');
is(as_role('app', 'ALTER EXTENSION fencelock UPDATE'), '42501', 'nor update it');
is(as_role('app', 'CREATE TABLE fences.mine (id int)'), '42501', 'nor create anything beside it');
is(as_role('app', "COMMENT ON FUNCTION fences.fence_history() IS 'mine'"), '42501', 'nor change what belongs to it');

# The settings that weaken.
foreach my $setting ("fencelock.enforce = 'off'", "fencelock.enforce = 'warn'", 'session_replication_role = replica')
{
	isnt(as_role('app', "SELECT fences.fence_token('r'); SET $setting"), '', "an application may not set $setting");
}
is(as_role('app', "SET fencelock.enforce = 'off'; UPDATE orders SET status = 'x'; INSERT INTO orders VALUES (1, 'x')"), 'LF002',
	'a setting from before the module came has no effect');
is(sqlstate_of($node, "SELECT 1", role => 'app'), '', '(the role can connect)');
isnt(as_role('app', 'ALTER TABLE orders DISABLE TRIGGER ALL'), '', 'nor switch a guard off');

# Whoever owns a table may not make a guard: with a template of its own it could move every mark.
is(as_role('table_owner', "CREATE TRIGGER zz BEFORE INSERT OR UPDATE OR DELETE ON unguarded FOR EACH ROW
	EXECUTE FUNCTION fences.fence_guard('resource=order:{id}')"), '42501', 'an owner may not create a guard');
is(as_role('app', "CREATE TEMP TABLE t (id int); CREATE TRIGGER zz BEFORE INSERT ON t FOR EACH ROW
	EXECUTE FUNCTION fences.fence_guard('resource=order:{id}')"), '42501', 'nor may an application, on a temporary table');
$node->safe_psql('postgres', "GRANT EXECUTE ON FUNCTION fences.fence_guard() TO table_owner");
is(as_role('table_owner', "CREATE TRIGGER zz BEFORE INSERT OR UPDATE OR DELETE ON unguarded FOR EACH ROW
	EXECUTE FUNCTION fences.fence_guard('resource=mine:{id}')"), '', 'unless it was trusted with it');
is(as_role('table_owner', "INSERT INTO unguarded VALUES (1)"), 'LF002', 'then its table is guarded');
is(as_role('table_owner', "SELECT fences.fence_check('mine:1', 1)"), '42501', 'and nothing else is granted with it');

# One call lets an owner guard its tables, and present or issue nothing.
$node->safe_psql('postgres', "
	CREATE TABLE mine (id bigint PRIMARY KEY);
	ALTER TABLE mine OWNER TO table_owner;
	SELECT fences.fence_grant_guards('table_owner')");
is(as_role('table_owner', "
	SELECT fences.fence_attach('mine', 'own:{id}', 'fence_token', 'mark=row');
	INSERT INTO mine VALUES (1, 1);
	SELECT fences.fence_attach('mine', 'own:{id}');
	SELECT fences.fence_attach('mine', 'own:{id}', 'other_token', 'mark=row');
	SELECT fences.fence_detach('mine')"), '', 'an owner that was granted it guards its table');
is(as_role('table_owner', "SELECT fences.$_"), '42501', "and may not call $_")
  foreach ("fence_check('r', 1)", "fence_issue('i')", "fence_prune('0')", "fence_grant('other')", "fence_reset('r', 0)");
is(as_role('table_owner', "SELECT fences.fence_attach('orders', 'x:{id}')"), '42501', "nor guard another's table");

# Nobody needs a right on the extension to make tables: neither guarded ones nor others.
$node->safe_psql('postgres', "
	CREATE ROLE stranger LOGIN;
	GRANT CREATE ON DATABASE postgres TO stranger;
	CREATE TABLE measures (id int) PARTITION BY LIST (id);
	CREATE TABLE notes (id int);
	SELECT fences.fence_attach('measures', 'measure:{id}'), fences.fence_attach('notes', 'note:{id}');
	CREATE FOREIGN DATA WRAPPER no_wrapper;
	CREATE SERVER no_server FOREIGN DATA WRAPPER no_wrapper;
	GRANT USAGE ON FOREIGN SERVER no_server TO stranger;
	ALTER TABLE measures OWNER TO stranger;
	ALTER TABLE notes OWNER TO stranger");
is(value($node, "SELECT has_schema_privilege('stranger', 'fences', 'USAGE')"), 'f', '(a role without any right on the extension)');
foreach my $statement (
	"CREATE TABLE m (id int) PARTITION BY RANGE (id)", "CREATE TABLE m_1 PARTITION OF m FOR VALUES FROM (1) TO (2)",
	"ALTER TABLE m DETACH PARTITION m_1", "ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM (1) TO (2)",
	"CREATE TABLE p (id int)", "CREATE TABLE p_child () INHERITS (p)", "ALTER TABLE p_child NO INHERIT p",
	"ALTER TABLE p_child INHERIT p", "CREATE SCHEMA born CREATE TABLE born_child () INHERITS (public.p)",
	"CREATE FOREIGN TABLE p_foreign () INHERITS (p) SERVER no_server", "ALTER FOREIGN TABLE p_foreign NO INHERIT p",
	"TRUNCATE m, p_child")
{
	is(messages_of($node, $statement, role => 'stranger'), '', "it may: $statement");
}
# PostgreSQL asks who makes a partition for the right to its parent's trigger function, and for no other.
is(as_role('stranger', "CREATE TABLE measures_1 PARTITION OF measures FOR VALUES IN (1)"), '42501', 'a partition of a guarded table gets a guard');
$node->safe_psql('postgres', "GRANT EXECUTE ON FUNCTION fences.fence_guard() TO stranger");
foreach my $part (1 .. 3)
{
	my $name = $part == 3 ? 'born_too.measures_3' : "measures_$part";
	is(as_role('stranger',
		$part == 1 ? "CREATE TABLE measures_1 PARTITION OF measures FOR VALUES IN (1)"
		: $part == 2 ? "CREATE TABLE measures_2 (id int, fence_token bigint); ALTER TABLE measures ATTACH PARTITION measures_2 FOR VALUES IN (2)"
		: "CREATE SCHEMA born_too CREATE TABLE measures_3 PARTITION OF public.measures FOR VALUES IN (3)"),
		'', "which needs no right on the schema: $name");
	is(as_role('stranger', "TRUNCATE $name"), '55000', "and is guarded against TRUNCATE: $name");
	is(as_role('stranger', "INSERT INTO $name VALUES ($part)"), 'LF002', "and against writes: $name");
}
foreach my $statement ("ALTER TABLE measures DETACH PARTITION measures_1", "CREATE TABLE notes_child () INHERITS (notes)",
	"ALTER TABLE notes_child NO INHERIT notes; ALTER TABLE notes_child INHERIT notes",
	"CREATE SCHEMA born_last CREATE TABLE notes_born () INHERITS (public.notes)")
{
	my $messages = messages_of($node, "SET search_path = public; $statement", role => 'stranger');
	like($messages, qr/\A[^\n]*WARNING:  table "\w+" (?:is not guarded any more|inherits from guarded table "notes" and has no guard)$/m,
		"it is told: $statement");
	unlike($messages, qr/ERROR/, "and nothing fails: $statement");
}

# A foreign table that could be truncated, and not be kept from it, becomes no partition.
is(as_role('stranger', "CREATE FOREIGN TABLE measures_foreign PARTITION OF measures FOR VALUES IN (4) SERVER no_server"),
	version_of($node) < 16 ? '42809' : '', 'a foreign partition is guarded against TRUNCATE, or refused');
is(value($node, "SELECT count(*) FROM pg_class c WHERE relname = 'measures_foreign'
	AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgname = 'zz_fence_guard_truncate')"), 0, 'there is no third');

# Event triggers that a superuser makes by hand, for events that have no statement or no end.
$node->safe_psql('postgres', "
	CREATE EVENT TRIGGER by_hand_start ON ddl_command_start EXECUTE FUNCTION fences.fence_tell_unguarded();
	CREATE EVENT TRIGGER by_hand_drop ON sql_drop EXECUTE FUNCTION fences.fence_tell_unguarded();
	CREATE EVENT TRIGGER by_hand_end ON ddl_command_end EXECUTE FUNCTION fences.fence_tell_unguarded()");
$node->safe_psql('postgres', "CREATE EVENT TRIGGER by_hand_login ON login EXECUTE FUNCTION fences.fence_tell_unguarded()")
  if version_of($node) >= 17;
is(messages_of($node, "CREATE TABLE by_hand () INHERITS (p); ALTER TABLE by_hand NO INHERIT p; DROP TABLE by_hand; GRANT SELECT ON p TO PUBLIC;
	CREATE TABLE by_select AS SELECT 1 AS one; DROP TABLE by_select", role => 'stranger'), '', 'event triggers made by hand harm nobody');
$node->safe_psql('postgres', "DROP EVENT TRIGGER $_")
  foreach ('by_hand_start', 'by_hand_drop', 'by_hand_end', version_of($node) >= 17 ? 'by_hand_login' : ());

# A grant goes away as it came.
$node->safe_psql('postgres', "CREATE ROLE leaver LOGIN; SELECT fences.fence_grant('leaver')");
is(as_role('leaver', "SELECT fences.fence_token('r')"), '', 'a grant works');
$node->safe_psql('postgres', 'DROP OWNED BY leaver; DROP ROLE leaver');
pass('and is gone with its role');

# What a hostile role can put into the way of everybody: operators, functions, casts and tables with the names that
# a careless lookup would find first.
my $hostile = '
	CREATE SCHEMA IF NOT EXISTS hostile;
	CREATE FUNCTION hostile.yes(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
	CREATE FUNCTION hostile.yes(bigint, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
	CREATE FUNCTION hostile.yes(name, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
	CREATE FUNCTION hostile.yes(oid, oid) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
	CREATE FUNCTION hostile.join(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $x$hijacked$x$ $$;
	CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.<> (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.= (LEFTARG = name, RIGHTARG = text, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.yes);
	CREATE OPERATOR hostile.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.join);
	CREATE FUNCTION hostile.max(text) RETURNS text LANGUAGE sql AS $$ SELECT $x$hijacked$x$ $$;
	CREATE FUNCTION hostile.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS $$ SELECT $x$hijacked$x$ $$;
	CREATE FUNCTION hostile.quote_literal(text) RETURNS text LANGUAGE sql AS $$ SELECT $x$hijacked$x$ $$;
	CREATE FUNCTION hostile.gen_random_uuid() RETURNS uuid LANGUAGE sql AS $$ SELECT $x$00000000-0000-0000-0000-000000000000$x$::uuid $$;
	CREATE FUNCTION hostile.getdatabaseencoding() RETURNS name LANGUAGE sql AS $$ SELECT $x$hijacked$x$::name $$;
	CREATE FUNCTION hostile.fence_guard_oid() RETURNS oid LANGUAGE sql AS $$ SELECT 0::oid $$;
	CREATE FUNCTION hostile.fence_check(text, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
	CREATE TABLE hostile.pg_trigger (tgname name);
	CREATE TABLE hostile.pg_proc (oid oid);
	CREATE TABLE hostile.fence_resource (resource text PRIMARY KEY, mark bigint, owner text, changed_at timestamptz);
	CREATE TABLE hostile.fence_issuer (resource text PRIMARY KEY, issued bigint);
	GRANT ALL ON ALL TABLES IN SCHEMA hostile TO PUBLIC;
	GRANT USAGE ON SCHEMA hostile TO PUBLIC;
';
$node->safe_psql('postgres', 'GRANT CREATE ON DATABASE postgres TO other');
is(as_role('other', $hostile), '', 'a role creates its traps');
(my $in_public = $hostile) =~ s/hostile\./public./g;
$in_public =~ s/^.*SCHEMA.*\n//mg;
is(as_role('other', $in_public), '', 'and the same in public');

my $traps = "
	SET search_path = hostile, public, pg_catalog;
	CREATE TEMP TABLE fence_resource (resource text PRIMARY KEY, mark bigint, owner text, changed_at timestamptz);
	CREATE TEMP TABLE fence_issuer (resource text PRIMARY KEY, issued bigint, first bigint);
	CREATE TEMP TABLE fence_history_state (name text PRIMARY KEY);
	CREATE TEMP TABLE fence_issuer_stamp (name text PRIMARY KEY);
	CREATE TEMP TABLE pg_trigger (tgname name);
	CREATE TEMP TABLE pg_class (oid oid);";
my $trapped = PsqlSession->new($node, role => 'app');
$trapped->run($traps);
my $admin = PsqlSession->new($node);
$admin->run($traps);

is($trapped->run("SELECT fences.fence_check('order:1', 10)"), 't', 'among traps: a token is accepted');
$trapped->run("SELECT fences.fence_check('order:1', 9)");
is($trapped->sqlstate, 'LF001', 'among traps: a lower one is stale');
is(value($node, "SELECT mark FROM fences.fence_resource WHERE resource = 'order:1'"), 10, 'among traps: the mark is the real one');
is($trapped->run('SELECT count(*) FROM fence_resource'), 0, 'among traps: the false table stays empty');
is($trapped->run("SELECT fences.fence_issue('trapped'), fences.fence_acquire('trapped', 'me', '1 hour')"), '1|2',
	'among traps: tokens are issued');
$trapped->run("INSERT INTO orders VALUES (1, 'by claim')");
is($trapped->sqlstate, 'LF002', 'among traps: a write without a token is refused');
$trapped->run("INSERT INTO orders VALUES (1, 'stamped', 10); UPDATE orders SET status = 'stale', fence_token = 9");
is($trapped->sqlstate, 'LF001', 'among traps: a stale write is refused');

# The same session state under a superuser's call: this is what the functions' own search_path is for.
$admin->run('CREATE TABLE admins (id int)');
$admin->run("SELECT fences.fence_attach('admins', 'less:{id}', 'fence_token', 'ties=reject')");
is($admin->sqlstate, '', 'among traps: a guard is attached');
like(
	value($node, "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE t.tgname = 'zz_fence_guard' AND c.relname = 'admins'"),
	qr/EXECUTE FUNCTION fences\.fence_guard\('resource=less:\{id\}', 'token=fence_token', 'ties=reject'\)/,
	'among traps: the right one');
like($admin->run("SELECT resource, ties FROM fences.fence_attachment WHERE resource OPERATOR(pg_catalog.=) 'less:{id}'"),
	qr/^less:\{id\}\|reject$/m, 'among traps: it is listed');
$admin->run("INSERT INTO admins VALUES (1, 3);
	SELECT fences.fence_detach('admins');
	ALTER TABLE admins ADD PRIMARY KEY (id);
	SELECT fences.fence_attach('admins', 'less:{id}', 'fence_token', 'mark=row');
	UPDATE admins SET fence_token = 5;
	SELECT fences.fence_attach('admins', 'less:{id}')");
is($admin->run("SELECT fences.fence_token('less:1')"), 5, 'among traps: marks are carried over');
my $before = value($node, 'SELECT fences.fence_history()');
$admin->run("UPDATE fences.fence_issuer SET first = first WHERE false");
isnt(value($node, 'SELECT fences.fence_history()'), $before, 'among traps: a hand-written change renews the stamp');
is(value($node, "SELECT stamp OPERATOR(pg_catalog.<>) '00000000-0000-0000-0000-000000000000' FROM fences.fence_issuer_stamp WHERE name OPERATOR(pg_catalog.=) 'fence_issuer'"), 't',
	'among traps: with a random one');
$admin->run("SELECT fences.fence_detach('admins'); SELECT fences.fence_grant('other'); SELECT fences.fence_prune('0');
	SELECT pg_catalog.count(*) FROM fences.fence_audit(); SELECT pg_catalog.count(*) FROM fences.fence_stat");
is($admin->sqlstate, '', 'among traps: all else works');
is(value($node, "SELECT count(*) FROM pg_proc
	WHERE has_function_privilege('other', oid, 'EXECUTE') AND pronamespace = 'fences'::regnamespace"), 10,
	'among traps: the grant is the right one');
$_->close foreach ($trapped, $admin);

done_testing();
