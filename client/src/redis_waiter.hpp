// Waits in Redis until a lock is released.
#pragma once

#include <memory>
#include <string>

#include <fencelock/issuer.hpp>

#include "keys.hpp"
#include "redis_route.hpp"

namespace fencelock::detail {

/// Blocks on the list that a release pushes one element to, so that each release wakes one waiter,
/// the one that has been blocked longest. Because a wake may be lost (the waiter that took it may
/// have died) and a lease that runs out wakes nobody, it blocks no longer than the lease runs, nor
/// than a second, and a fraction of one where plain clients, which wake nobody, share the lock.
/// Where the server refuses to block (a missing right), polls. A server that fails, was demoted or
/// has given the keys away is left: the next wait is at the one that is found then.
///
/// Has a connection to itself while it lives: what others ask meanwhile is not held up.
class redis_waiter final : public waiter {
  public:
    redis_waiter(std::shared_ptr<redis_pool> pool, std::string const& resource);
    ~redis_waiter() override;

    void wait(steady::time_point until, std::stop_token const& stop) override;

  private:
    bool block(steady::time_point until, std::stop_token const& stop);
    milliseconds block_length(redis_link& link, steady::time_point until);
    steady::time_point answer_deadline(milliseconds blocked, steady::time_point until) const;

    std::shared_ptr<redis_pool> const pool_;
    redis_keys const keys_;
    redis_route route_;
    std::unique_ptr<redis_link> link_;
    bool refused_ = false;
};

} // namespace fencelock::detail
