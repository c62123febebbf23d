// Which server a request goes to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

    /// `server` failed, or says that it cannot serve now: where requests go is asked for again.
    virtual void doubt(redis_address const& server) = 0;

    /// Where `by` sent a request to, noted for the next ones unless it is for one request only.
    /// Nothing where servers cannot redirect.
    virtual std::optional<redis_address> redirected(redirection const& to, redis_address const& by);

    /// For messages.
    virtual std::string place() const = 0;
};

/// The one that the URL asks for.
std::unique_ptr<redis_topology> make_topology(redis_target const& target,
                                              redis_connector const& connector);

} // namespace fencelock::detail
