// What a client and its handles share. Lives until the last of them is gone.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include <fencelock/client.hpp>

#include "database.hpp"
#include "observer.hpp"
#include "process.hpp"
#include "refusal_memory.hpp"
#include "renewer.hpp"

namespace fencelock::detail {

class core {
  public:
    core(std::vector<std::shared_ptr<issuer>> issuers_in_order, std::shared_ptr<database> db_,
         client_options const& options_, std::shared_ptr<detail::observer> observer_);

    /// In a forked child the threads are gone, and the connections are the parent's: nothing here
    /// may be used, nor destroyed.
    bool belongs_to_this_process() const noexcept { return pid_ == process_id(); }

    std::vector<std::shared_ptr<issuer>> const issuers; ///< the second is the fallback, if any
    std::shared_ptr<database> const db;
    client_options const options;
    std::shared_ptr<detail::observer> const observer;
    refusal_memory refusals;
    detail::renewer renewer;

  private:
    pid_t const pid_;
};

} // namespace fencelock::detail
