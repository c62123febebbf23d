// The servers that the tests of one program share, and names of their own in them.
#pragma once

#include <string>
#include <vector>

#include <fencelock/fencelock.hpp>

#include "sanitizers.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"
#include "support/wait_until.hpp"

namespace fencelock::test {

using namespace std::chrono_literals;
using test_support::wait_until;

/// ThreadSanitizer ends a forked child that starts threads (by die_after_fork, or because it takes
/// them for the parent's).
inline constexpr bool children_may_start_threads = !thread_sanitizer;

/// Started when first used, with the extension installed. For tests that do not disturb it.
/// @throws std::logic_error where the first use is in a thread that a test started
test_support::postgres_server& shared_postgres();

/// Started when first used. For tests that do not disturb it.
/// @throws std::logic_error where the first use is in a thread that a test started
test_support::redis_server& shared_redis();

/// CREATE EXTENSION in the database postgres of a server.
void install_extension(test_support::postgres_server& server);

/// A resource that no other test uses.
std::string new_resource();

/// Owner-independent look at what Redis keeps of `resource`, a plain name.
std::string lock_key(std::string const& resource);
std::string state_key(std::string const& resource);

/// How often the server has executed a command, and any of our scripts.
std::int64_t calls_of(test_support::redis_server const& server, std::string const& command);
std::int64_t script_calls(test_support::redis_server const& server);

/// How many clients wait there for a wake.
std::int64_t blocked_clients(test_support::redis_server const& server);

/// A user `fencelock` with the password `secret`, the fewest rights that an acquire, a renewal and
/// a release need, and `more`.
void add_smallest_user(test_support::redis_server const& server,
                       std::vector<std::string> const& more = {});

/// The database postgres of the server that a proxy leads to.
std::string conninfo_through(test_support::tcp_proxy const& proxy);

/// The mark of a resource; 0 where there is none.
std::int64_t mark_of(test_support::postgres_server& server, std::string const& resource);

/// The highest token of a resource that the shared server has handed out; 0 where there is none.
std::int64_t issued(std::string const& resource);

/// Whether a session of the shared server waits for what another one's transaction has locked.
bool somebody_waits_in_postgres();

} // namespace fencelock::test
