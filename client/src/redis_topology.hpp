// Which server a request goes to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis_connector.hpp"
#include "redis_fault.hpp"

namespace fencelock::detail {

/// Thread-safe. What is known is kept until it is doubted; asking for it holds no lock, so that a
/// slow answer delays only who needs it.
class redis_topology {
  public:
    redis_topology() = default;
    virtual ~redis_topology() = default;
    redis_topology(redis_topology const&) = delete;
    redis_topology& operator=(redis_topology const&) = delete;

    /// Where requests about `key` go. Where that is not known, asks for it: throws link_failure
    /// (never sent), redis_error or configuration_error.
    virtual redis_address server_for(std::string_view key, steady::time_point deadline) = 0;

    /// All servers that requests may go to, none of them twice. Throws as server_for does.
    virtual std::vector<redis_address> servers(steady::time_point deadline)
    {
        return {server_for({}, deadline)};
    }

    /// Where they go as far as is known, by name; for telling servers apart, without asking.
    virtual std::string known_server_for(std::string_view) const { return {}; }

    /// `server` failed, or says that it cannot serve now: where requests go is asked for again.
    virtual void doubt(redis_address const& server) = 0;

    /// Where `by` sent a request to, noted for the next ones unless it is for one request only.
    /// Nothing where servers cannot redirect.
    virtual std::optional<redis_address> redirected(redirection const& to, redis_address const& by);

    /// Whether keys that belong together have to lie in one slot of a cluster.
    virtual bool has_slots() const { return false; }

    /// For messages.
    virtual std::string place() const = 0;
};

/// The one that the URL asks for.
std::unique_ptr<redis_topology> make_topology(redis_target const& target,
                                              redis_connector const& connector);

} // namespace fencelock::detail
