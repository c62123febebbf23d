// Several independent Redis (or Valkey) servers that grant leases together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fencelock/export.hpp>
#include <fencelock/redis_locks.hpp>

namespace fencelock {

/// The servers of a Redlock: a lease is one that more than half of them have. They know nothing of
/// each other, and PostgreSQL issues the tokens, one with every grant. Shared by any number of
/// clients and threads. Connects when first used; a forked child may make a client over its
/// parent's.
///
/// All clients have to use the same servers: two lists that share no majority exclude nobody. A
/// server that is listed under two names has two votes, which cannot be seen from here.
class FENCELOCK_EXPORT redlock_locks {
  public:
    /// Each URL is that of one server, `redis://`, `rediss://` or `unix://`, see redis_locks;
    /// parameters for TLS are best given there where not all servers use it. One server or more; an
    /// even number survives the loss of no more servers than the odd one below it. Of the options,
    /// block_size and state_idle do not matter. Throws invalid_argument for none, for a server
    /// given twice, for sentinels, clusters and plain keys; configuration_error where a file cannot
    /// be used.
    explicit redlock_locks(std::vector<std::string> const& urls, redis_options const& options = {});
    ~redlock_locks();
    redlock_locks(redlock_locks const&) = delete;
    redlock_locks& operator=(redlock_locks const&) = delete;

  private:
    friend class client;
    std::vector<std::shared_ptr<detail::redis_pool>> pools_;
};

} // namespace fencelock
