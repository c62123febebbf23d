#include "running_transaction.hpp"

#include <algorithm>
#include <utility>

#include <fencelock/errors.hpp>

#include "process.hpp"

namespace fencelock::detail {

namespace {

// A bare pointer, which also outlives the destructors of whatever else a thread or program has.
thread_local running_transaction* innermost = nullptr;

} // namespace

running_transaction::running_transaction(std::vector<held_lease> claimed, std::string database)
    : claimed_{std::move(claimed)}, database_{std::move(database)}, process_{process_id()},
      outer_{innermost}
{
    innermost = this;
}

running_transaction::~running_transaction()
{
    // Mostly the innermost, but fibers of one thread may end theirs in any order.
    auto** at = &innermost;
    while (*at && *at != this)
        at = &(*at)->outer_;
    if (*at)
        *at = outer_;
}

void running_transaction::require_none_in_the_way(held_lease const& mine,
                                                  std::string const& database)
{
    for (auto const* one = innermost; one; one = one->outer_)
        if (one->is_in_the_way(mine, database))
            throw invalid_argument{"this thread is in a transaction() that has claimed \"" +
                                       mine.resource + "\", and a claim of token " +
                                       std::to_string(mine.token) +
                                       " from inside would wait for it without end: use the "
                                       "transaction that the function was given",
                                   mine.resource, mine.token};
}

// An older token does not wait: it is refused. (That the same one waits only while it raises the
// mark is no reason to let it pass at other times.) In a forked child the transaction is the
// parent's, which goes on by itself.
bool running_transaction::is_in_the_way(held_lease const& mine, std::string const& database) const
{
    return process_ == process_id() && database == database_ &&
           std::any_of(claimed_.begin(), claimed_.end(), [&](held_lease const& claimed) {
               return claimed.resource == mine.resource && claimed.token <= mine.token;
           });
}

} // namespace fencelock::detail
