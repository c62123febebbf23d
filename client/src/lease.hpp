// A granted lease and what becomes of it: the state behind a handle.
#pragma once

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
/// other state than held.
class lease {
  public:
    lease(std::shared_ptr<core> shared, std::shared_ptr<issuer> granted_by, held_lease id,
          grant const& granted, acquire_options const& options);

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
    /// resource gets a higher token.
    void refused(std::int64_t mark) noexcept;

    /// Throws fencelock's own error where `e` is the server's refusal of this lease's token, which
    /// ends the lease; else returns. `e` comes from a statement that presented no other token.
    void rethrow_refusal(std::exception const& e);

    /// Ends the lease where it is this lease's token that was refused.
    void note_refusal(refusal const& what) noexcept;

    next_visit first_visit() const;

    /// One look by the renewer, done by `cut`. Nothing: it need not come again.
    std::optional<next_visit> renew_in_background(steady::time_point cut) noexcept;

  private:
    enum class state { held, lost, ending, ended };

    bool renew_until(steady::time_point deadline);
    void lose(std::string const& why);
    lock_lost loss() const; // with the mutex held
    steady::time_point attempt_deadline() const;

    std::shared_ptr<core> const core_;
    std::shared_ptr<issuer> const issuer_;
    held_lease const id_;
    milliseconds const ttl_;
    bool const renewed_; // in the background
    std::int64_t const block_end_;
    std::stop_source stop_;

    mutable std::mutex mutex_;
    state state_ = state::held;
    steady::time_point valid_until_;
    std::string why_lost_;
    std::function<void(lock_lost const&)> on_lost_;
};

} // namespace fencelock::detail
