// One thread that renews all leases of a client.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "clock.hpp"

namespace fencelock::detail {

class lease;

/// What the renewer needs to know of a lease, each time it looks after it.
struct next_visit {
    steady::time_point due;      ///< when to come again, at most `validity`
    steady::time_point validity; ///< when the lease ends if it is not renewed
};

/// The thread starts with the first lease. A lease that is gone, or over, is dropped when it is
/// due. A renewal is cut short where another lease would run out meanwhile, so that losses are told
/// in time.
class renewer {
  public:
    renewer();
    ~renewer(); ///< by whatever thread, the renewing one included
    renewer(renewer const&) = delete;
    renewer& operator=(renewer const&) = delete;

    void add(std::shared_ptr<lease> const& one, next_visit first);

  private:
    struct schedule;

    static void run(std::shared_ptr<schedule> const& shared);

    std::shared_ptr<schedule> schedule_;
    std::thread thread_;
};

} // namespace fencelock::detail
