// A Redis (or Valkey) server that grants leases.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fencelock/export.hpp>

namespace fencelock {

namespace detail {
class redis_pool;
}

/// For `rediss://`. Files are PEM, and are read when the redis_locks is made.
struct tls_options {
    /// The authorities that are trusted; empty: the system's.
    std::string ca_file{};

    /// What we show the server, with its chain; empty: nothing.
    std::string certificate_file{};

    /// The certificate's key, without a passphrase; empty: it is in certificate_file as well.
    std::string key_file{};

    /// The name or address that the server's certificate has to be for; empty: the host that is
    /// connected to.
    std::string server_name{};

    /// Without, anybody on the way can be the server. For experiments.
    bool verify = true;

    bool operator==(tls_options const&) const = default;
};

/// How a resource is named in Redis.
enum class key_preset {
    /// `fencelock:v1:{<resource>}:lock`, `:state`, `:wake`, with tokens that PostgreSQL reserves.
    tagged,

    /// `lock:<resource>` and `fence:<resource>`, shared with clients that run
    /// `SET lock:<resource> <id> NX PX <ttl>` and `INCR fence:<resource>` in one script. Redis
    /// alone counts: a counter that Redis loses starts again, so tokens may repeat and fall, and
    /// there is no fallback to PostgreSQL. A database still refuses what is below its mark; the
    /// counter is lifted above that mark by the next acquire of a client that saw the refusal. In a
    /// cluster the keys of a resource lie in one slot, as they have to, only where its name has a
    /// hash tag (`order:{1001}`); another name is an invalid_argument there.
    plain,
};

struct redis_options {
    /// For a connection to be made, AUTH and SELECT included. The look-up of a host name is the
    /// system's and not limited by it.
    std::chrono::milliseconds connect_timeout{1000};

    /// For one request to be answered.
    std::chrono::milliseconds command_timeout{1000};

    /// With redlock_locks: for one of the servers to answer, the connection included, but at most a
    /// quarter of the TTL. Who takes longer has no vote. All servers are asked at once, and once
    /// enough have answered, the others are hardly waited for.
    std::chrono::milliseconds redlock_timeout{200};

    /// How many connections to each server are kept open while nobody uses them.
    std::size_t idle_connections = 8;

    /// Tokens reserved in PostgreSQL at a time, 1 to 2^24.
    std::int64_t block_size = 1000;

    /// How long Redis keeps the counter of a resource that nobody locks; plain counters stay.
    std::chrono::milliseconds state_idle{std::chrono::hours{24}};

    /// The URL can say the same, see redis_locks.
    tls_options tls{};

    /// Who we are to the sentinels; empty: nobody. User and password of the URL are for Redis.
    std::string sentinel_user{};
    std::string sentinel_password{};

    key_preset keys = key_preset::tagged;
};

/// One server, one primary that sentinels watch, or one cluster; shared by any number of clients
/// and threads. Connects when first used. A forked child may make a client over its
/// parent's: it gets connections of its own.
class FENCELOCK_EXPORT redis_locks {
  public:
    /// `url` is one of
    /// - `redis://[user[:password]@]host[:port][/db]`
    /// - `redis+sentinel://[user:password@]host[:port],host[:port].../primary-name[/db]`
    /// - `redis+cluster://[user:password@]host[:port],host[:port]...`
    /// - `unix://[user[:password]@]/path[?db=n]`
    ///
    /// With `rediss` instead of `redis`, every connection is by TLS. Parameters at the end go
    /// before the options of the same names: `?ca_file=`, `certificate_file=`, `key_file=`,
    /// `server_name=`, `verify=yes|no`, `sentinel_user=`, `sentinel_password=`, joined by `&`.
    /// User, password, paths, the name and parameters may be percent-encoded. Throws
    /// invalid_argument, and configuration_error where a file cannot be used.
    explicit redis_locks(std::string_view url, redis_options const& options = {});
    ~redis_locks();
    redis_locks(redis_locks const&) = delete;
    redis_locks& operator=(redis_locks const&) = delete;

  private:
    friend class client;
    std::shared_ptr<detail::redis_pool> pool_;
};

} // namespace fencelock
