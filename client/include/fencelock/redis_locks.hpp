// A Redis (or Valkey) server that grants leases.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <fencelock/export.hpp>

namespace fencelock {

namespace detail {
class redis_pool;
}

/// How a resource is named in Redis.
enum class key_preset {
    /// `fencelock:v1:{<resource>}:lock`, `:state`, `:wake`, with tokens that PostgreSQL reserves.
    tagged,

    /// `lock:<resource>` and `fence:<resource>`, shared with clients that run
    /// `SET lock:<resource> <id> NX PX <ttl>` and `INCR fence:<resource>` in one script. Redis
    /// alone
    /// counts: a counter that Redis loses starts again, so tokens may repeat and fall, and there is
    /// no fallback to PostgreSQL. A database still refuses what is below its mark; the counter is
    /// lifted above that mark by the next acquire of a client that saw the refusal. In a cluster
    /// the two keys of a resource lie in one slot only where its name has a hash tag.
    plain,
};

struct redis_options {
    /// For a connection to be made, AUTH and SELECT included. The look-up of a host name is the
    /// system's and not limited by it.
    std::chrono::milliseconds connect_timeout{1000};

    /// For one request to be answered.
    std::chrono::milliseconds command_timeout{1000};

    /// How many connections are kept open while nobody uses them.
    std::size_t idle_connections = 8;

    /// Tokens reserved in PostgreSQL at a time, 1 to 2^24.
    std::int64_t block_size = 1000;

    /// How long Redis keeps the counter of a resource that nobody locks; plain counters stay.
    std::chrono::milliseconds state_idle{std::chrono::hours{24}};

    key_preset keys = key_preset::tagged;
};

/// One server, shared by any number of clients and threads. Connects when first used.
class FENCELOCK_EXPORT redis_locks {
  public:
    /// `url` is `redis://[user[:password]@]host[:port][/db]` or
    /// `unix://[user[:password]@]/path[?db=n]`. Throws invalid_argument.
    explicit redis_locks(std::string_view url, redis_options const& options = {});
    ~redis_locks();
    redis_locks(redis_locks const&) = delete;
    redis_locks& operator=(redis_locks const&) = delete;

  private:
    friend class client;
    std::shared_ptr<detail::redis_pool> pool_;
};

} // namespace fencelock
