// What the transactions have claimed that the thread at hand is in the middle of.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include <fencelock/issuer.hpp>

namespace fencelock::detail {

/// A transaction() whose function is about to run. Destroyed in the thread that made it.
class running_transaction {
  public:
    /// It has claimed these leases in `database`.
    running_transaction(std::vector<held_lease> claimed, std::string database);
    ~running_transaction();
    running_transaction(running_transaction const&) = delete;
    running_transaction& operator=(running_transaction const&) = delete;

    /// Throws invalid_argument where claiming `mine` in `database` (as database_of() names it)
    /// could wait for a transaction that this very thread is in, and so for ever.
    static void require_none_in_the_way(held_lease const& mine, std::string const& database);

  private:
    bool is_in_the_way(held_lease const& mine, std::string const& database) const;

    std::vector<held_lease> const claimed_;
    std::string const database_;
    pid_t const process_;
    running_transaction* outer_; // in this thread
};

} // namespace fencelock::detail
