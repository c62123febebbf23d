// Leases kept in PostgreSQL alone.
#pragma once

#include <memory>

#include <fencelock/issuer.hpp>

#include "database.hpp"

namespace fencelock::detail {

class database_issuer final : public issuer {
  public:
    explicit database_issuer(std::shared_ptr<database> db);

    std::string_view name() const noexcept override { return "database"; }
    std::optional<grant> try_acquire(lease_request const& request) override;
    std::optional<steady::time_point> renew(held_lease const& lease, milliseconds ttl,
                                            steady::time_point deadline) override;
    bool release(held_lease const& lease, steady::time_point deadline) override;

  private:
    std::shared_ptr<database> const database_;
};

} // namespace fencelock::detail
