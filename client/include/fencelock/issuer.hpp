// Whoever grants leases with fencing tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <fencelock/export.hpp>

namespace fencelock {

struct lease_request {
    std::string resource;
    std::string owner; ///< one value for an acquire and all its retries
    std::chrono::milliseconds ttl{};
    std::int64_t above = 0; ///< the token must be higher than this
    std::chrono::steady_clock::time_point deadline{};

    /// False where the owner may have a lease from an earlier acquire already: when this one fails,
    /// that must not be ended.
    bool owner_is_new = true;
};

struct grant {
    std::int64_t token = 0;

    /// The last token that may come from the same source as this one: after a refusal that names no
    /// mark, tokens up to here would be refused as well. The token itself where there are no
    /// blocks.
    std::int64_t block_end = 0;

    /// A moment before the request that was granted was sent: the lease counts from here.
    std::chrono::steady_clock::time_point counted_from{};
};

/// A granted lease, as the issuer knows it.
struct held_lease {
    std::string resource;
    std::string owner;
    std::int64_t token = 0;

    /// On release: the database has refused the token, and would refuse all up to this one; 0: it
    /// has not. An issuer that keeps a counter should pass them by.
    std::int64_t refused_up_to = 0;
};

/// Waits on behalf of one acquire while another owner has the lease.
class FENCELOCK_EXPORT waiter {
  public:
    waiter() = default;
    virtual ~waiter();
    waiter(waiter const&) = delete;
    waiter& operator=(waiter const&) = delete;

    /// Returns when another attempt may be worth it, at the latest by about `until`, and soon after
    /// a stop is requested. A hint, no more: it may return too early. Throws nothing that a
    /// failing server could cause: the attempt that follows tells of it.
    virtual void wait(std::chrono::steady_clock::time_point until, std::stop_token const& stop) = 0;
};

/// The interface between the client and what grants leases. May be implemented by users; called
/// from several threads at once. What an implementation must keep:
/// - the same owner asking again gets the same lease and token, as long as it holds it and the
///   token is above `above`;
/// - tokens of a resource never repeat and never fall;
/// - renew and release touch only a lease of exactly this owner and token, and renew creates none;
/// - every call returns, or throws, by about its deadline.
/// Every function throws issuer_unavailable where nothing happened, outcome_unknown where something
/// may have happened, configuration_error where trying again is pointless.
class FENCELOCK_EXPORT issuer {
  public:
    issuer() = default;
    virtual ~issuer();
    issuer(issuer const&) = delete;
    issuer& operator=(issuer const&) = delete;

    /// For people and logs: `redis`, `redlock`, `database`, ...
    virtual std::string_view name() const noexcept = 0;

    /// Nothing where another owner has the lease.
    virtual std::optional<grant> try_acquire(lease_request const& request) = 0;

    /// For one acquire of `resource` that has met another owner's lease. This one asks again after
    /// 100 to 200 ms.
    virtual std::unique_ptr<waiter> new_waiter(std::string const& resource);

    /// The moment from which the new TTL counts; nothing where the lease is not held any more.
    virtual std::optional<std::chrono::steady_clock::time_point>
    renew(held_lease const& lease, std::chrono::milliseconds ttl,
          std::chrono::steady_clock::time_point deadline) = 0;

    /// True where the lease was held and has been ended by this.
    virtual bool release(held_lease const& lease,
                         std::chrono::steady_clock::time_point deadline) = 0;

    /// A name for the server that renewals of this resource's leases wait for. Of those with one
    /// name only a few are made at a time; those with another do not wait for them. Must not block,
    /// nor throw. All have one name, unless this says otherwise.
    virtual std::string server_for(std::string const& resource) const;
};

} // namespace fencelock
