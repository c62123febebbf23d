# A psql that stays open, so that a test can hold a transaction in one session and look on from another.
package PsqlSession;

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Utils;

# Options: db, role, settings (a hash, set for the session).
sub new
{
	my ($class, $node, %options) = @_;
	my $self = { in => '', out => '', err => '', statements => 0 };
	my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr($options{db} // 'postgres'));
	push @command, '-U', $options{role} if defined $options{role};
	$self->{timer} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default // 180);
	$self->{psql} = IPC::Run::start(\@command, '<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		$self->{timer});
	bless $self, $class;
	$self->{pid} = $self->run('SELECT pg_backend_pid()');
	my $settings = $options{settings} // {};
	$self->run("SET $_ = '$settings->{$_}'") foreach sort keys %$settings;
	return $self;
}

# The server process of the session.
sub pid { return $_[0]{pid}; }

# Runs statements and returns what they print; what they say is in messages().
sub run
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->result;
}

# Starts statements that may have to wait; result() waits for them.
sub send
{
	my ($self, $sql) = @_;
	my $end = 'end of statement ' . ++$self->{statements};
	$self->{out} = $self->{err} = '';
	$self->{in} .= "$sql;\n\\echo $end\n\\warn $end\n";
	$self->{end} = $end;
	$self->{psql}->pump_nb;
	return;
}

# Ends also where psql itself does, as it does when the server ends the session.
sub result
{
	my ($self) = @_;
	my $end = qr/^\Q$self->{end}\E\n/m;
	$self->{timer}->start;
	until ($self->{out} =~ $end && $self->{err} =~ $end)
	{
		last unless $self->{psql}->pumpable;
		$self->{psql}->pump;
	}
	$self->{timer}->reset;
	$self->{out} =~ s/$end//;
	$self->{err} =~ s/$end//;
	chomp $self->{out};
	return $self->{out};
}

sub messages { return $_[0]{err}; }

# The SQLSTATE of the last error, '' where there was none.
sub sqlstate { return $_[0]{err} =~ /(?:ERROR|FATAL):  ([0-9A-Z]{5}):/ ? $1 : ''; }

sub close
{
	my ($self) = @_;
	$self->{in} .= "\\q\n";
	$self->{psql}->finish;
	return;
}

# The session waits in the server, for a lock or between two looks.
sub wait_until_blocked
{
	my ($self, $node) = @_;
	$node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Lock' AND state = 'active' FROM pg_stat_activity WHERE pid = $self->{pid}")
	  or die 'the session does not wait';
	return;
}

1;
