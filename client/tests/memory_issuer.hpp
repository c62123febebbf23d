// Leases kept in the test's memory, for what needs more of them than servers can be asked for.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <fencelock/issuer.hpp>

namespace fencelock::test {

/// Grants to everybody, and counts what must not happen: a renewal that begins after the release of
/// its lease has begun, or is under way when it does.
class memory_issuer : public issuer {
  public:
    using clock = std::chrono::steady_clock;

    std::string_view name() const noexcept override { return "memory"; }

    std::optional<grant> try_acquire(lease_request const&) override
    {
        auto const token = ++last_;
        return grant{token, token, clock::now()};
    }

    std::optional<clock::time_point> renew(held_lease const& lease, std::chrono::milliseconds,
                                           clock::time_point deadline) override
    {
        auto const counted_from = clock::now();
        {
            std::lock_guard const guard{mutex_};
            renewals_after_release_ += released_.count(lease.token);
            ++under_way_[lease.token];
        }
        ++renewals_begun_;
        while_renewing(lease, deadline);
        std::lock_guard const guard{mutex_};
        if (--under_way_[lease.token] == 0)
            under_way_.erase(lease.token);
        return counted_from;
    }

    bool release(held_lease const& lease, clock::time_point) override
    {
        std::lock_guard const guard{mutex_};
        renewals_beside_release_ += under_way_.count(lease.token);
        return released_.insert(lease.token).second;
    }

    bool is_renewing(std::int64_t token)
    {
        std::lock_guard const guard{mutex_};
        return under_way_.contains(token);
    }

    bool is_released(std::int64_t token)
    {
        std::lock_guard const guard{mutex_};
        return released_.contains(token);
    }

    std::uint64_t renewals_begun() const { return renewals_begun_; }
    std::uint64_t renewals_after_release() const { return renewals_after_release_; }
    std::uint64_t renewals_beside_release() const { return renewals_beside_release_; }

  private:
    virtual void while_renewing(held_lease const&, clock::time_point) {}

    std::atomic<std::int64_t> last_{0};
    std::atomic<std::uint64_t> renewals_begun_{0};
    std::atomic<std::uint64_t> renewals_after_release_{0};
    std::atomic<std::uint64_t> renewals_beside_release_{0};
    std::mutex mutex_;
    std::map<std::int64_t, int> under_way_; // by token
    std::set<std::int64_t> released_;
};

} // namespace fencelock::test
