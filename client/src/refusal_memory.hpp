// What refusals have taught: tokens up to some number are of no use any more.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

namespace fencelock::detail {

/// Thread-safe. Keeps the resources that were refused last; forgetting one costs another refusal.
class refusal_memory {
  public:
    explicit refusal_memory(std::size_t most) : most_{most} {}

    /// The next token of the resource has to be above this; 0 where nothing is known.
    std::int64_t above(std::string const& resource) const;

    void refused(std::string const& resource, std::int64_t above);

    /// A token above what was refused has been granted.
    void granted(std::string const& resource, std::int64_t token);

    /// What was refused was below a number that is no token's: nobody can grant one above.
    void forget(std::string const& resource);

  private:
    struct entry {
        std::string resource;
        std::int64_t above;
    };

    using index = std::unordered_map<std::string, std::list<entry>::iterator>;

    void erase(index::iterator known);

    std::size_t const most_;
    mutable std::mutex mutex_;
    std::list<entry> newest_first_;
    index by_resource_;
};

} // namespace fencelock::detail
