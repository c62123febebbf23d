// Keeps the time of all leases of a client, and has them renewed.
#pragma once

#include <memory>

#include "clock.hpp"

namespace fencelock::detail {

class lease;

/// One thread keeps the time of all leases and never waits for a server, so a loss is told when it
/// happens. Renewals are made by helpers, of which only a few wait for one server at a time: one
/// that is slow delays the renewals of its own leases, and nobody else's. Threads start with the
/// first lease.
class renewer {
  public:
    renewer();
    ~renewer(); ///< by whatever thread, one of these included
    renewer(renewer const&) = delete;
    renewer& operator=(renewer const&) = delete;

    /// Looks after the lease from `first` on, until it is over or forgotten.
    void add(std::shared_ptr<lease> const& one, steady::time_point first);

    /// The lease is being destroyed.
    void forget(lease const& one) noexcept;

  private:
    class schedule;

    std::shared_ptr<schedule> const schedule_;
};

} // namespace fencelock::detail
