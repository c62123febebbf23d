// A granted lease and what becomes of it: the state behind a handle.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <fencelock/lock.hpp>

#include "core.hpp"
#include "refusal.hpp"

namespace fencelock::detail {

/// held -> lost, or held -> ending -> ended; nothing leads back to held. No renewal starts in any
/// other state than held, and a release is sent when none is under way any more.
class lease {
  public:
    lease(std::shared_ptr<core> shared, std::shared_ptr<issuer> granted_by, held_lease id,
          grant const& granted, acquire_options const& options);
    ~lease();
    lease(lease const&) = delete;
    lease& operator=(lease const&) = delete;

    held_lease const& id() const noexcept { return id_; }
    fencelock::issuer& granted_by() const noexcept { return *issuer_; }
    core& shared() const noexcept { return *core_; }
    std::stop_token stop_token() const noexcept { return stop_.get_token(); }
    steady::time_point valid_until() const;

    bool held();

    /// Throws lock_lost where the lease is over.
    void require_held();

    /// The caller of acquire gets the handle now, and hears of a loss from here on. False where the
    /// lease is over already: then it must not get it.
    bool hand_over(std::function<void(lock_lost const&)> on_lost);

    bool renew();
    release_outcome release() noexcept;

    /// Ends the handle, not the lease. Throws lock_lost where that is over.
    held_lease detach();
    void confirm(steady::time_point deadline);

    /// The database refused the token: the lease is lost, and is released. The next acquire of the
    /// resource gets a higher token. May be called again: then it teaches no more than the mark.
    void refused(std::int64_t mark) noexcept;

    /// Throws fencelock's own error where `e` is the server's refusal of this lease's token, which
    /// ends the lease; else returns. `e` comes from a statement that presented no other token.
    void rethrow_refusal(std::exception const& e);

    /// Ends the lease where it is this lease's token that was refused.
    void note_refusal(refusal const& what) noexcept;
    void note_refusal(std::string const& resource, std::int64_t token, std::int64_t mark) noexcept;

    /// In the background; else nobody need come before the lease ends.
    bool is_renewed() const noexcept { return renewed_; }

    /// Whose renewals wait for the same server as this one's.
    std::string server() const { return issuer_->server_for(id_.resource); }

    steady::time_point first_visit() const;

    /// Renews, or, where the lease is lost, ends what is left of it. When to come again, at the
    /// latest when the lease ends; nothing where it is over.
    std::optional<steady::time_point> renew_in_background() noexcept;

    /// The lease is lost, but a renewal may have extended it at the issuer, where it would keep
    /// others out for nothing. Never so where the owner was named: what is there may be the lease
    /// of another acquire by then, with the same token, and only the TTL ends it.
    bool left_something() const;
    void end_what_is_left() noexcept;

  private:
    enum class state { held, lost, ending, ended };

    bool renew_until(steady::time_point deadline);
    std::optional<steady::time_point> ask_for_renewal(steady::time_point deadline);
    bool lose(std::string const& why);
    lock_lost loss() const; // with the mutex held
    lock_lost loss(std::string const& why) const;
    steady::time_point attempt_deadline() const;

    std::shared_ptr<core> const core_;
    std::shared_ptr<issuer> const issuer_;
    held_lease const id_;
    milliseconds const ttl_;
    bool const renewed_; // in the background
    bool const owner_is_new_;
    std::int64_t const block_end_;
    std::stop_source stop_;

    std::atomic<bool> refused_ = false;

    mutable std::mutex mutex_;
    std::condition_variable renewal_ended_;
    int renewals_under_way_ = 0;
    bool unanswered_renewal_ = false; // since the last one that was answered
    state state_ = state::held;
    steady::time_point valid_until_;
    std::string why_over_;
    std::function<void(lock_lost const&)> on_lost_;
};

} // namespace fencelock::detail
