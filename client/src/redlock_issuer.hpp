// Leases from a quorum of independent Redis servers, with tokens that PostgreSQL issues.
#pragma once

#include <memory>
#include <vector>

#include <fencelock/issuer.hpp>

#include "database.hpp"
#include "redlock_attempt.hpp"
#include "redlock_servers.hpp"

namespace fencelock::detail {

/// Each acquire takes the lock on a quorum, then a token, then grants it on a quorum of those who
/// voted for it: a token that was issued earlier but granted later could fence the holder between
/// the two. An owner that asks again gets the same lease where a quorum says that it has it, else a
/// higher token. A lease never comes to servers that had no part in its grant: where a majority of
/// all has lost it, it is over.
class redlock_issuer final : public issuer {
  public:
    redlock_issuer(std::vector<std::shared_ptr<redis_pool>> const& pools,
                   std::shared_ptr<database> db, std::shared_ptr<observer> const& watch);

    std::string_view name() const noexcept override { return "redlock"; }
    std::optional<grant> try_acquire(lease_request const& request) override;
    std::unique_ptr<waiter> new_waiter(std::string const& resource) override;
    std::optional<steady::time_point> renew(held_lease const& lease, milliseconds ttl,
                                            steady::time_point deadline) override;
    bool release(held_lease const& lease, steady::time_point deadline) override;

  private:
    void give_back(held_lease const& lease, steady::time_point deadline) noexcept;
    std::optional<grant> attempt_until_decided(lease_request const& request, bool& is_unknown);
    std::int64_t issue(lease_request const& request, std::string const& ticket);
    [[noreturn]] void fail(std::string const& what, server_answers const& answers,
                           std::optional<milliseconds> ttl, bool is_unknown,
                           held_lease const& of) const;

    std::vector<std::shared_ptr<redis_pool>> const pools_;
    std::shared_ptr<database> const database_;
    redlock_servers servers_;
};

} // namespace fencelock::detail
