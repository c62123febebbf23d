// What the operations of a worker are: drawn from its seed, before anything is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace torture {

using std::chrono::milliseconds;

// How a transaction presents its token.
enum class way {
    transaction,     // lock.transaction() on a connection of the client's
    transaction_own, // the same on a connection of the worker's
    claim,           // lock.claim() in a transaction of the worker's
    stamp,           // lock.stamp().update()
    stamp_sql,       // plain SQL that writes the token column
    setting,         // plain SQL after SET LOCAL fencelock.claims
    check,           // plain SQL after fence_check, as from another language
    check_by_try,    // the same by fence_try
    savepoint,       // plain SQL; a claim and a write taken back by a savepoint before
    two_phase,       // plain SQL, PREPARE TRANSACTION, COMMIT PREPARED
    unfenced,        // plain SQL without a token: must be refused
    transfer,        // lock_set::transaction() over two resources
};
std::string_view name_of(way w);

enum class level { read_committed, repeatable_read, serializable };
std::string_view name_of(level l);

struct transaction_plan {
    way how = way::transaction;
    level isolation = level::read_committed;
    std::vector<std::string> tables;
    milliseconds before_read{}; // thinking time, in which the process may be stopped
    milliseconds before_write{};
    milliseconds before_commit{};
    bool rolled_back = false;
};

enum class ending { release, detach, destroy };

struct operation_plan {
    std::string group; // who grants: the name of a Redis, or `db`
    std::string resource;
    std::string other; // the second resource of a transfer, behind the first in order
    milliseconds ttl{};
    milliseconds wait{};
    bool confirm = false;
    bool renew = true;
    bool owner = false; // names its owner itself
    milliseconds before_first{};
    std::vector<transaction_plan> transactions;
    ending end = ending::release;
};

class planner {
  public:
    planner(options const& chosen, int thread);

    operation_plan next();

  private:
    std::int64_t between(std::int64_t low, std::int64_t high);
    bool one_in(int n) { return between(1, n) == 1; }
    template <typename T>
    T const& any_of(std::vector<T> const& these)
    {
        return these[static_cast<std::size_t>(
            between(0, static_cast<std::int64_t>(these.size()) - 1))];
    }
    milliseconds think(std::int64_t ttl);
    transaction_plan next_transaction(operation_plan const& op, std::string const& family);
    std::vector<std::string> tables_for(std::string const& family, way how);

    options const& options_;
    std::mt19937_64 random_;
    std::vector<std::string> groups_;
};

} // namespace torture
