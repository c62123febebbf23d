// What is promised about the tokens of a resource, checked with every grant.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <fencelock/fencelock.hpp>

namespace fencelock::test {

/// Of one resource, whoever grants. Not thread-safe.
class grant_record {
  public:
    /// A lock was granted: its token is a new one.
    void granted(lock const& what);

    /// Presents the token to the database. True where it was accepted: then it is not below one
    /// that was accepted before. False where it is stale.
    bool claimed(lock& what);

    std::size_t grants() const noexcept { return owners_.size(); }
    std::int64_t highest_claim() const noexcept { return highest_claim_; }

  private:
    std::map<std::int64_t, std::string> owners_; // by token
    std::int64_t highest_claim_ = 0;
};

} // namespace fencelock::test
