// The connections to one server.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <fencelock/redis_locks.hpp>

#include "redis_link.hpp"
#include "scripts.hpp"

namespace fencelock::detail {

/// Thread-safe: every request has a connection to itself, so a slow one holds nobody up.
class redis_pool {
  public:
    redis_pool(redis_target target, redis_options const& options);
    ~redis_pool();
    redis_pool(redis_pool const&) = delete;
    redis_pool& operator=(redis_pool const&) = delete;

    /// An idle connection or a new one. Throws link_failure or redis_error.
    std::unique_ptr<redis_link> take(steady::time_point deadline);

    /// Takes back a connection whose last command was answered.
    void give_back(std::unique_ptr<redis_link> link);

    redis_options const& options() const noexcept { return options_; }
    std::string place() const { return address_.display(); }

  private:
    redis_address const address_;
    std::shared_ptr<tls_context const> const tls_; // none: no TLS
    redis_options const options_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<redis_link>> idle_;
};

/// Runs a script by its digest; where the server does not know it (flushed, restarted, failed
/// over), with its body. The reply is no error. Throws link_failure or redis_error.
redis_reply run_script(redis_link& link, script const& what, std::span<std::string const> keys,
                       std::span<std::string const> arguments, steady::time_point deadline);

} // namespace fencelock::detail
