#include "help.hpp"

#include <string_view>

#include "exit_code.hpp"

namespace fencelock::cli {

namespace {

constexpr std::string_view program_help =
    R"(Usage: fencelock [OPTION...] COMMAND [ARGUMENT...]

Locks with fencing tokens that PostgreSQL enforces.

Commands ('fencelock COMMAND --help' tells more):
  run       run a program under a lock
  acquire   take a lock and leave it to its TTL
  renew     extend a lock that was acquired
  release   end a lock that was acquired
  show      who holds what, and what the database has accepted
  doctor    settings of these servers that endanger locking

Options:
  --redis URL       where locks are kept, e.g. redis://localhost
                    (FENCELOCK_REDIS); without it, in PostgreSQL alone. Given
                    several times (in the variable: with spaces between), a
                    Redlock: locks are held on a majority of these independent
                    servers
  --db CONNINFO     the database that reserves and checks tokens (FENCELOCK_DB);
                    without it, only plain keys can be used
  --keys PRESET     tagged (default), or plain: the keys lock:RESOURCE and
                    fence:RESOURCE, shared with other clients (FENCELOCK_KEYS)
  --json            print JSON, an object a line
  -h, --help        this, or the help of a command
  -V, --version     the version

Arguments can be read by other users of the machine: passwords are better
given by the environment. On a terminal, show and doctor use colours unless the
variable NO_COLOR is set, and what takes more than two seconds says so.
)";

constexpr std::string_view run_help =
    R"(Usage: fencelock [OPTION...] run -r RESOURCE [--ttl 30s] [--wait 0]
                                  [--no-confirm] -- CMD [ARG...]

Takes the lock, runs CMD, and releases. The lock is renewed meanwhile. CMD gets
FENCELOCK_RESOURCE, FENCELOCK_TOKEN and FENCELOCK_OWNER, and a PGOPTIONS with
which psql and every other program that uses libpq presents the token, unless
its connection string has options= of its own. Signals are passed on. Where the
lock is lost, CMD's process group gets TERM, and KILL after 5 seconds.

  -r, --resource RESOURCE  what to lock
  --ttl DURATION           the lock ends by itself so long after the last
                           renewal: 1ms to 1 year (30s)
  --wait DURATION          how long to wait while others hold it: 0, to try
                           once, to 1 year (0)
  --no-confirm             do not present the token before CMD starts; earlier
                           holders are fenced by CMD's first write then
)";

constexpr std::string_view acquire_help =
    R"(Usage: fencelock [OPTION...] acquire -r RESOURCE [--ttl 30s] [--wait 0]
                                      [--owner ID] [--no-confirm]

Takes the lock, prints 'resource token owner issuer', and leaves the lock to its
TTL. With --json an object with these names and ttl_ms.

  -r, --resource RESOURCE  what to lock
  --ttl DURATION           the lock ends by itself so long from now: 1ms to 1
                           year (30s)
  --wait DURATION          how long to wait while others hold it: 0, to try
                           once, to 1 year (0)
  --owner ID               the holder's id, 1 to 256 bytes (a new one). Whoever
                           asks with the owner of a lock that is held gets the
                           same lock and token again, and the new TTL, which
                           counts from now and may shorten it
  --no-confirm             do not present the token to the database; earlier
                           holders are fenced by the first write then
)";

constexpr std::string_view renew_help =
    R"(Usage: fencelock [OPTION...] renew -r RESOURCE --owner ID --token N [--ttl 30s]

Extends a lock by its owner and token, as acquire printed them. Never creates
one.

  -r, --resource RESOURCE  what is locked
  --owner ID               the holder's id
  --token N                the fencing token
  --ttl DURATION           counts from now, and may shorten what the lock has
                           left: 1ms to 1 year (30s)
)";

constexpr std::string_view release_help =
    R"(Usage: fencelock [OPTION...] release -r RESOURCE --owner ID --token N

Ends a lock by its owner and token, as acquire printed them.

  -r, --resource RESOURCE  what is locked
  --owner ID               the holder's id
  --token N                the fencing token
)";

constexpr std::string_view show_help =
    R"(Usage: fencelock [OPTION...] show [-r RESOURCE]

Shows, in Redis: the holder, its token and remaining TTL, and the last token
counted (of a Redlock: the holder on a majority, and what each server keeps); in
PostgreSQL: the mark (the highest token accepted), the highest token issued, and
the lease.

  -r, --resource RESOURCE  of this one; without it, of every lock that is held

What is issued and leased in PostgreSQL is shown to roles that may read the
table fence_issuer. Where one server cannot be asked, what the other knows is
shown all the same.
)";

constexpr std::string_view doctor_help =
    R"(Usage: fencelock [OPTION...] doctor

Prints every setting of this Redis and this database that endangers locking, and
what to change: eviction, persistence, a replica, a database that is read-only,
missing rights, clocks that are apart, locks without a TTL, a missing or old
extension, tokens that new connections present already, plain keys, and what
fence_audit() finds.
With sentinels it looks at each of them and at the primary; in a cluster at each
primary, and what it knows of the cluster's state and slots; of a Redlock at
each server, and whether one is listed twice or away.
)";

constexpr std::string_view durations =
    R"(
Durations: 500ms, 30s, 5m, 2h, 1d. A year is 365.25 days.
)";

std::string_view text_of(std::optional<command> one)
{
    if (!one)
        return program_help;
    switch (*one) {
    case command::run:
        return run_help;
    case command::acquire:
        return acquire_help;
    case command::renew:
        return renew_help;
    case command::release:
        return release_help;
    case command::show:
        return show_help;
    case command::doctor:
        break;
    }
    return doctor_help;
}

} // namespace

std::string help_of(std::optional<command> one)
{
    std::string help{text_of(one)};
    if (one && contains(that_take | only(command::renew), *one))
        help += durations;
    return help + "\nExit codes:\n" + exit_codes_of(one);
}

} // namespace fencelock::cli
