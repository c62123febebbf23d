// The connections to one Redis, of however many servers.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <fencelock/redis_locks.hpp>

#include "redis_topology.hpp"
#include "scripts.hpp"

namespace fencelock::detail {

/// Thread-safe: every request has a connection to itself, so a slow one holds nobody up. A forked
/// child may go on using it: it makes connections of its own.
class redis_pool {
  public:
    redis_pool(redis_target const& target, redis_options const& options);
    ~redis_pool();
    redis_pool(redis_pool const&) = delete;
    redis_pool& operator=(redis_pool const&) = delete;

    /// An idle connection to the server or a new one. Throws as redis_link does.
    std::unique_ptr<redis_link> take(redis_address const& server, steady::time_point deadline);

    /// Takes a connection back; closes it where some command has not been answered, and where
    /// enough are idle. Null is none.
    void give_back(std::unique_ptr<redis_link> link) noexcept;

    /// The server failed, or cannot serve now: its idle connections are of no use either.
    void doubt(redis_address const& server);

    redis_topology& topology() { return *own().topology; }
    redis_options const& options() const noexcept { return options_; }
    std::string place() { return topology().place(); }

  private:
    using links = std::vector<std::unique_ptr<redis_link>>;

    // What a process knows and has. It is freed in that process only.
    struct possessions {
        pid_t process;
        std::unique_ptr<redis_topology> topology;
        std::mutex mutex;
        std::map<std::string, links> idle; // by display() of the server
    };

    std::unique_ptr<possessions> new_possessions() const;
    possessions& own();

    redis_target const target_;
    redis_options const options_;
    redis_connector const connector_;
    std::atomic<possessions*> possessions_{nullptr};
};

/// Runs a script by its digest; where the server does not know it (flushed, restarted, failed
/// over), with its body. The reply is no error. Throws link_failure or redis_error.
redis_reply run_script(redis_link& link, script const& what, std::span<std::string const> keys,
                       std::span<std::string const> arguments, steady::time_point deadline);

/// The same, by its body at once.
redis_reply run_script_body(redis_link& link, script const& what, std::span<std::string const> keys,
                            std::span<std::string const> arguments, steady::time_point deadline);

/// The words of a script's reply; its last one, the server's time where it is a number, goes to the
/// link. Throws link_failure where there are none.
std::vector<std::string> words_of(redis_reply const& reply, redis_link& link);

} // namespace fencelock::detail
