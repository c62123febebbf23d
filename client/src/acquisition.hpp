// One acquire of one resource: attempts, waits, confirmations.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core.hpp"
#include "lease.hpp"

namespace fencelock::detail {

class acquisition {
  public:
    /// `resource` and `options`, which were checked, must outlive it.
    acquisition(std::shared_ptr<core> shared, std::string const& resource,
                acquire_options const& options);

    /// The lease, or nothing where others held it to the end, or the wait was cancelled. Throws as
    /// client::try_acquire().
    std::shared_ptr<lease> run();

    /// After a run in vain: the last issuer that others had the lease from was asked because the
    /// ones before it could not be, which this tells; else empty.
    std::string const& why_fell_back() const noexcept { return why_fell_back_; }

  private:
    std::shared_ptr<lease> wait_for_lease();
    void pause();
    std::shared_ptr<lease> attempt();
    std::shared_ptr<lease> ask_issuers();
    std::shared_ptr<lease> ask(std::shared_ptr<issuer> const& issuer);
    std::optional<grant> answer_of(issuer& issuer);
    void is_unknown_at(issuer const& issuer, std::string const& why);
    std::shared_ptr<lease> keep(std::shared_ptr<issuer> const& issuer, grant const& granted);
    void give_up(issuer& issuer, std::int64_t token) const noexcept;
    void fell_back(lease const& lease) const;
    bool confirmed(lease& lease, steady::time_point end, bool first);
    release_outcome let_go(lease& lease) const noexcept;
    void pause_or_rethrow(steady::time_point end, bool first) const;

    std::shared_ptr<core> const core_;
    std::string const& resource_;
    acquire_options const& options_;
    std::string owner_;
    steady::time_point wait_end_;
    std::exception_ptr trouble_; // of the last attempt

    // Who may have granted the lease to which owner, or may yet, without our having heard of it.
    std::set<std::pair<issuer const*, std::string>> unknown_at_;
    std::string why_unknown_; // where that is not empty

    std::string why_fell_back_;
    bool waited_ = false;
    std::shared_ptr<issuer> refused_by_; // said that others hold the lock
    std::shared_ptr<issuer> waits_for_;
    std::unique_ptr<waiter> waiter_; // of waits_for_
};

} // namespace fencelock::detail
