#include "lease.hpp"

#include <algorithm>
#include <utility>

#include <fencelock/errors.hpp>

#include "running_transaction.hpp"

namespace fencelock::detail {

namespace {

// A renewal that is not answered by then is tried again.
milliseconds renewal_limit(milliseconds ttl)
{
    return std::clamp(ttl / 6, milliseconds{1}, milliseconds{1000});
}

milliseconds pause_after_failure(milliseconds ttl)
{
    return std::clamp(ttl / 20, milliseconds{1}, milliseconds{500});
}

} // namespace

lease::lease(std::shared_ptr<core> shared, std::shared_ptr<issuer> granted_by, held_lease id,
             grant const& granted, acquire_options const& options)
    : core_{std::move(shared)}, issuer_{std::move(granted_by)}, id_{std::move(id)},
      ttl_{options.ttl}, renewed_{options.renew}, owner_is_new_{options.owner.empty()},
      block_end_{granted.block_end}, valid_until_{granted.counted_from + reliable(options.ttl)}
{
}

lease::~lease()
{
    core_->renewer.forget(*this);
}

steady::time_point lease::valid_until() const
{
    std::lock_guard const guard{mutex_};
    return valid_until_;
}

bool lease::held()
{
    {
        std::lock_guard const guard{mutex_};
        if (state_ != state::held)
            return false;
        if (steady::now() < valid_until_)
            return true;
    }
    lose("its TTL of " + std::to_string(ttl_.count()) + " ms passed without a renewal");
    return false;
}

void lease::require_held()
{
    if (held())
        return;
    std::lock_guard const guard{mutex_};
    throw loss();
}

bool lease::hand_over(std::function<void(lock_lost const&)> on_lost)
{
    if (!held())
        return false;
    std::lock_guard const guard{mutex_};
    on_lost_ = std::move(on_lost);
    return state_ == state::held;
}

bool lease::renew()
try {
    if (held() && renew_until(attempt_deadline()))
        return true;
    end_what_is_left();
    return false;
} catch (...) {
    if (!held())
        end_what_is_left();
    throw;
}

release_outcome lease::release() noexcept
{
    {
        std::unique_lock guard{mutex_};
        if (state_ == state::lost || state_ == state::ended)
            return release_outcome::not_held;
        state_ = state::ending;
        renewal_ended_.wait(guard, [this] { return renewals_under_way_ == 0; });
    }
    try {
        auto const was_ours = issuer_->release(id_, steady::now() + core_->options.attempt_timeout);
        std::lock_guard const guard{mutex_};
        state_ = state::ended;
        core_->observer->released += was_ours ? 1 : 0;
        return was_ours ? release_outcome::released : release_outcome::not_held;
    } catch (...) {
        return release_outcome::unknown; // still `ending`: release() may be tried again
    }
}

held_lease lease::detach()
{
    require_held();
    std::lock_guard const guard{mutex_};
    if (state_ != state::held)
        throw loss();
    why_over_ = "it was given away by detach()";
    state_ = state::ended;
    return id_;
}

void lease::confirm(steady::time_point deadline)
{
    require_held();
    try {
        core_->db->call(
            [&](database_session& session) {
                running_transaction::require_none_in_the_way(id_, session.name);
                auto& connection = *session.connection;
                return "SELECT " + session.schema + ".fence_check(" +
                       connection.quote(id_.resource) + "," + std::to_string(id_.token) + "," +
                       connection.quote(id_.owner) + ")";
            },
            id_.resource, deadline);
    } catch (stale_token const& e) {
        refused(e.mark());
        throw;
    } catch (token_conflict const&) {
        refused(0);
        throw;
    } catch (token_not_issued const&) {
        refused(0);
        throw;
    }
}

void lease::refused(std::int64_t mark) noexcept
try {
    auto ended = id_;
    ended.refused_up_to = mark != 0 ? mark : block_end_;
    core_->refusals.refused(id_.resource, ended.refused_up_to);
    core_->observer->refused += lose("the database refused its token") ? 1 : 0;
    if (!refused_.exchange(true))
        issuer_->release(ended, steady::now() + core_->options.attempt_timeout);
} catch (...) { // the TTL ends it
}

void lease::rethrow_refusal(std::exception const& e)
{
    auto what = refusal_of(e);
    if (!what)
        return;
    what->resource = id_.resource;
    note_refusal(*what);
    throw_refusal(*what);
}

void lease::note_refusal(refusal const& what) noexcept
{
    if (what.ends_lease())
        note_refusal(what.resource, what.token, what.mark);
}

// A guard may hide the resource from this role: then the token tells whose lease it was.
void lease::note_refusal(std::string const& resource, std::int64_t token,
                         std::int64_t mark) noexcept
{
    if (token == id_.token && (resource.empty() || resource == id_.resource))
        refused(mark);
}

steady::time_point lease::first_visit() const
{
    std::lock_guard const guard{mutex_};
    return renewed_ ? std::min(steady::now() + ttl_ / 3, valid_until_) : valid_until_;
}

std::optional<steady::time_point> lease::renew_in_background() noexcept
try {
    auto next = steady::now() + ttl_ / 3;
    try {
        if (held())
            renew_until(std::min(attempt_deadline(), steady::now() + renewal_limit(ttl_)));
    } catch (std::exception const& e) { // no answer, or one that may change: the lease runs on
        ++core_->observer->failed_renewals;
        core_->observer->tell(log_level::warning,
                              "renewing the lock of \"" + id_.resource +
                                  "\" failed, to be tried "
                                  "again: " +
                                  e.what(),
                              id_.resource, id_.token);
        next = steady::now() + pause_after_failure(ttl_);
    }
    if (held())
        return std::min(next, valid_until());
    end_what_is_left();
    return std::nullopt;
} catch (...) { // out of memory: look again soon
    return steady::now() + milliseconds{100};
}

// False where the issuer says that the lease is not ours any more, and where it is over by now.
bool lease::renew_until(steady::time_point deadline)
{
    auto const counted_from = ask_for_renewal(deadline);
    if (!counted_from) {
        lose("it expired, or was ended by somebody else");
        return false;
    }
    ++core_->observer->renewals;
    std::lock_guard const guard{mutex_};
    unanswered_renewal_ = state_ == state::lost; // too late: then it was as good as none
    if (state_ == state::held)
        valid_until_ = std::max(valid_until_, *counted_from + reliable(ttl_));
    return state_ == state::held;
}

// Nothing where the issuer says that the lease is over, or where a release has begun.
std::optional<steady::time_point> lease::ask_for_renewal(steady::time_point deadline)
{
    {
        std::lock_guard const guard{mutex_};
        if (state_ != state::held)
            return std::nullopt;
        ++renewals_under_way_;
    }
    auto const ended = [this](bool unanswered) {
        std::lock_guard const guard{mutex_};
        unanswered_renewal_ = unanswered_renewal_ || unanswered;
        --renewals_under_way_;
        renewal_ended_.notify_all();
    };
    try {
        auto const counted_from = issuer_->renew(id_, ttl_, deadline);
        ended(false);
        return counted_from;
    } catch (issuer_unavailable const&) {
        ended(false);
        throw;
    } catch (...) {
        ended(true);
        throw;
    }
}

bool lease::left_something() const
{
    std::lock_guard const guard{mutex_};
    return owner_is_new_ && state_ == state::lost && unanswered_renewal_;
}

void lease::end_what_is_left() noexcept
try {
    {
        std::lock_guard const guard{mutex_};
        bool const was_unanswered = std::exchange(unanswered_renewal_, false);
        if (!owner_is_new_ || state_ != state::lost || !was_unanswered)
            return;
    }
    issuer_->release(id_, steady::now() + core_->options.attempt_timeout);
} catch (...) { // the TTL ends it
}

// False where it was over already. Where there is no memory for it, nothing has happened yet:
// whoever asks next tells the loss.
bool lease::lose(std::string const& why)
{
    auto reason = why;
    auto const told = loss(why);
    std::unique_lock guard{mutex_};
    if (state_ != state::held)
        return false;
    state_ = state::lost;
    why_over_.swap(reason);
    auto const on_lost = std::move(on_lost_);
    guard.unlock();

    ++core_->observer->lost;
    core_->observer->tell(log_level::warning, told.what(), id_.resource, id_.token);
    stop_.request_stop();
    try {
        if (on_lost)
            on_lost(told);
    } catch (...) { // as on_lost is documented
    }
    return true;
}

lock_lost lease::loss() const
{
    return loss(why_over_.empty() ? "it was released" : why_over_);
}

lock_lost lease::loss(std::string const& why) const
{
    return lock_lost{"the lock of \"" + id_.resource + "\" with token " +
                         std::to_string(id_.token) + " is over: " + why,
                     id_.resource, id_.token};
}

steady::time_point lease::attempt_deadline() const
{
    return std::min(valid_until(), steady::now() + core_->options.attempt_timeout);
}

} // namespace fencelock::detail
