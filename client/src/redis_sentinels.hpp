// A primary and its replicas, watched by sentinels.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "redis_topology.hpp"

namespace fencelock::detail {

/// All requests go to the primary that a sentinel names. Whether it is one, the scripts check in
/// the step in which they act. A sentinel that is cut off may go on naming a former primary, so
/// another one is asked after each doubt.
///
/// Who asked for nothing for a second may have missed a failover, and a former primary that was
/// only frozen takes itself for one until a sentinel tells it otherwise. So the first request after
/// that asks a sentinel again, for a moment; where none answers, what was known stays.
class redis_sentinels final : public redis_topology {
  public:
    redis_sentinels(redis_target const& target, redis_connector connector);

    redis_address server_for(std::string_view key, steady::time_point deadline) override;
    void doubt(redis_address const& server) override;
    std::string place() const override { return "Redis primary \"" + name_ + "\""; }

  private:
    redis_address ask(std::vector<redis_address> const& sentinels, steady::time_point deadline);

    redis_connector const connector_;
    std::string const name_;
    redis_address const login_;
    std::mutex mutex_;
    std::vector<redis_address> sentinels_; // the next to ask first
    std::optional<redis_address> primary_;
    steady::time_point last_asked_for_{};
};

} // namespace fencelock::detail
