// The servers that the tests of one program share, and names of their own in them.
#pragma once

#include <string>

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
test_support::postgres_server& shared_postgres();

/// Started when first used. For tests that do not disturb it.
test_support::redis_server& shared_redis();

/// CREATE EXTENSION in the database postgres of a server.
void install_extension(test_support::postgres_server& server);

/// A resource that no other test uses.
std::string new_resource();

/// Owner-independent look at what Redis keeps of `resource`, a plain name.
std::string lock_key(std::string const& resource);
std::string state_key(std::string const& resource);

/// The mark of a resource; 0 where there is none.
std::int64_t mark_of(test_support::postgres_server& server, std::string const& resource);

} // namespace fencelock::test
