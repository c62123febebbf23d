// Waits at the servers of a Redlock until a lock is released.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fencelock/issuer.hpp>

#include "keys.hpp"
#include "redis_pool.hpp"

namespace fencelock::detail {

/// Blocks at one server, the first in the list that answers and has the lock granted: all waiters
/// at the same one, so that a release, which tells every server, wakes one of them. Comes back by
/// itself when the lease should have run out there, and twice a second. Where no server has it
/// granted, others are just now asking for it as well: comes back at a random moment.
class redlock_waiter final : public waiter {
  public:
    redlock_waiter(std::vector<std::shared_ptr<redis_pool>> const& pools,
                   std::string const& resource);

    void wait(steady::time_point until, std::stop_token const& stop) override;

  private:
    struct server {
        std::shared_ptr<redis_pool> pool;
        std::unique_ptr<redis_link> link; // while it is the one that is waited at
        bool is_away = false;             // passed over until all are
    };

    bool block_at(server& one, steady::time_point until, std::stop_token const& stop);
    bool block_over(redis_link& link, milliseconds answer_limit, steady::time_point until) const;

    redis_keys const keys_;
    std::vector<server> servers_;
};

} // namespace fencelock::detail
