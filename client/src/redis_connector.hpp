// How connections to any server of a Redis are made.
#pragma once

#include <memory>
#include <optional>

#include "redis_link.hpp"

namespace fencelock::detail {

class redis_connector {
  public:
    /// Reads the files that the TLS options name; throws as tls_context does.
    redis_connector(std::optional<tls_options> const& tls, milliseconds connect_timeout)
        : tls_{tls ? std::make_shared<tls_context const>(*tls) : nullptr}, connect_timeout_{
                                                                               connect_timeout}
    {
    }

    /// Within the connect timeout, and the deadline. Throws as redis_link does.
    std::unique_ptr<redis_link> connect(redis_address const& address,
                                        steady::time_point deadline) const
    {
        auto const limit = std::min(deadline, steady::now() + connect_timeout_);
        return std::make_unique<redis_link>(address, limit, tls_);
    }

  private:
    std::shared_ptr<tls_context const> tls_; // none: no TLS
    milliseconds connect_timeout_;
};

} // namespace fencelock::detail
