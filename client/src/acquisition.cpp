#include "acquisition.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fencelock/errors.hpp>

#include "owner_id.hpp"
#include "pause.hpp"
#include "unknown_outcome.hpp"

namespace fencelock::detail {

namespace {

// What another attempt must be given to be worth it, after tokens were refused twice.
constexpr milliseconds time_to_confirm{500};

// Two issuers may need the same server, and fail for the same reason.
void add_reason(std::string& reasons, std::string const& one)
{
    if (reasons != one)
        reasons += (reasons.empty() ? "" : "; ") + one;
}

} // namespace

acquisition::acquisition(std::shared_ptr<core> shared, std::string const& resource,
                         acquire_options const& options)
    : core_{std::move(shared)}, resource_{resource}, options_{options},
      owner_{options.owner.empty() ? new_owner_id() : options.owner}, wait_end_{steady::now() +
                                                                                options.wait}
{
}

// Only here is it decided what a failure means: who may have granted the lease unheard has not been
// disproved by whatever came after.
std::shared_ptr<lease> acquisition::run()
try {
    auto lease = wait_for_lease();
    if (!lease && !unknown_at_.empty())
        throw outcome_unknown{why_unknown_ + "; then others held it", resource_};
    return lease;
} catch (error const&) {
    rethrow_as_unknown(!unknown_at_.empty(), resource_, why_unknown_);
}

std::shared_ptr<lease> acquisition::wait_for_lease()
{
    while (!options_.stop.stop_requested()) {
        trouble_ = nullptr;
        try {
            auto lease = attempt();
            if (lease && lease->hand_over(options_.on_lost))
                return lease;
            if (lease) {
                lease->end_what_is_left();
                lease->require_held(); // throws what it was lost by
            }
        } catch (issuer_unavailable const&) {
            trouble_ = std::current_exception();
        } catch (lock_lost const&) { // by its TTL, before the caller had it
            trouble_ = std::current_exception();
        } catch (outcome_unknown const&) {
            trouble_ = std::current_exception();
        }
        if (steady::now() >= wait_end_)
            break;
        pause();
    }
    if (trouble_)
        std::rethrow_exception(trouble_);
    return nullptr;
}

void acquisition::pause()
{
    if (trouble_) {
        waiter_.reset();
        pause_until(std::min(wait_end_, steady::now() + retry_pause()), options_.stop);
        return;
    }
    if (!std::exchange(waited_, true))
        ++core_->observer->waits;
    if (!waiter_ || waits_for_ != refused_by_) {
        waiter_ = refused_by_->new_waiter(resource_);
        waits_for_ = refused_by_;
    }
    waiter_->wait(wait_end_, options_.stop);
}

std::shared_ptr<lease> acquisition::attempt()
{
    auto const end = std::max(wait_end_, steady::now() + core_->options.attempt_timeout);
    for (bool first = true;; first = false) {
        auto lease = ask_issuers();
        if (!lease || !options_.confirm || confirmed(*lease, end, first))
            return lease;
    }
}

// The next issuer is asked only where one cannot be reached, never where it says that others hold
// the lock.
std::shared_ptr<lease> acquisition::ask_issuers()
{
    why_fell_back_.clear();
    for (auto const& issuer : core_->issuers) {
        bool const is_last = &issuer == &core_->issuers.back();
        try {
            auto lease = ask(issuer);
            if (lease && !why_fell_back_.empty())
                fell_back(*lease);
            return lease;
        } catch (issuer_unavailable const& e) {
            if (is_last && why_fell_back_.empty())
                throw;
            add_reason(why_fell_back_, e.what());
        } catch (lock_lost const& e) { // slower than the TTL
            if (is_last)
                throw;
            add_reason(why_fell_back_, e.what());
        } catch (outcome_unknown const& e) {
            if (is_last)
                throw;
            add_reason(why_fell_back_, e.what());
        }
    }
    throw issuer_unavailable{why_fell_back_, resource_};
}

void acquisition::fell_back(lease const& lease) const
{
    ++core_->observer->fallbacks;
    core_->observer->tell(log_level::warning,
                          "the lock of \"" + resource_ + "\" is a lease in PostgreSQL, because " +
                              why_fell_back_,
                          resource_, lease.id().token);
}

std::shared_ptr<lease> acquisition::ask(std::shared_ptr<issuer> const& issuer)
{
    auto const granted = answer_of(*issuer);
    if (!granted) {
        ++core_->observer->contended;
        refused_by_ = issuer;
        return nullptr;
    }
    try {
        return keep(issuer, *granted);
    } catch (std::system_error const& e) {
        give_up(*issuer, granted->token);
        throw issuer_unavailable{"the lock of \"" + resource_ +
                                     "\" was granted, but there is no thread to renew it (" +
                                     e.what() + "), and it was released",
                                 resource_, granted->token};
    } catch (...) { // it is over already, or there is no memory
        give_up(*issuer, granted->token);
        throw;
    }
}

// Any answer says what this issuer has of the owner's.
std::optional<grant> acquisition::answer_of(issuer& issuer)
try {
    auto const granted = issuer.try_acquire(
        {resource_, owner_, options_.ttl, core_->refusals.above(resource_),
         steady::now() + core_->options.attempt_timeout, options_.owner.empty()});
    if (!unknown_at_.empty())
        unknown_at_.erase({&issuer, owner_});
    return granted;
} catch (invalid_argument const&) { // the refusal came from a row in which no token stands
    core_->refusals.forget(resource_);
    throw;
} catch (held_by_others const& e) {
    is_unknown_at(issuer, e.what());
    return std::nullopt;
} catch (outcome_unknown const& e) {
    is_unknown_at(issuer, e.what());
    throw;
}

void acquisition::is_unknown_at(issuer const& issuer, std::string const& why)
{
    if (unknown_at_.empty())
        why_unknown_ = why;
    unknown_at_.emplace(&issuer, owner_);
}

std::shared_ptr<lease> acquisition::keep(std::shared_ptr<issuer> const& issuer,
                                         grant const& granted)
{
    core_->refusals.granted(resource_, granted.token);
    auto lease = std::make_shared<detail::lease>(
        core_, issuer, held_lease{resource_, owner_, granted.token}, granted, options_);
    if (steady::now() >= lease->valid_until())
        throw lock_lost{"the lock of \"" + resource_ + "\" was granted, but its TTL of " +
                            std::to_string(options_.ttl.count()) +
                            " ms was over before the answer came",
                        resource_, granted.token};
    core_->renewer.add(lease, lease->first_visit());
    return lease;
}

// Nobody knows of the lease that was granted; unless it is that of an earlier acquire.
void acquisition::give_up(issuer& issuer, std::int64_t token) const noexcept
try {
    if (options_.owner.empty())
        issuer.release({resource_, owner_, token}, steady::now() + core_->options.attempt_timeout);
} catch (...) { // the TTL ends it
}

// False where the token was refused and there is time for another.
bool acquisition::confirmed(lease& lease, steady::time_point end, bool first)
{
    try {
        lease.confirm(end);
        return true;
    } catch (stale_token const&) {
        pause_or_rethrow(end, first);
    } catch (token_conflict const&) {
        pause_or_rethrow(end, first);
    } catch (token_not_issued const&) {
        pause_or_rethrow(end, first);
    } catch (error const& e) {
        if (let_go(lease) == release_outcome::unknown)
            is_unknown_at(lease.granted_by(), e.what());
        throw;
    } catch (...) {
        let_go(lease);
        throw;
    }
    if (options_.owner.empty())
        owner_ = new_owner_id();
    return false;
}

// Of a named owner it may be the lease of an earlier acquire.
release_outcome acquisition::let_go(lease& lease) const noexcept
{
    return options_.owner.empty() ? lease.release() : release_outcome::not_held;
}

// In a handler of the refusal. One teaches what the next token has to be above. More have another
// cause, which may not pass in time: then the refusal is what the caller hears, not a timeout.
void acquisition::pause_or_rethrow(steady::time_point end, bool first) const
{
    auto const pause = first ? milliseconds{0} : retry_pause();
    auto const needed = first ? milliseconds{0} : time_to_confirm;
    if (steady::now() + pause + needed >= end || options_.stop.stop_requested())
        throw;
    pause_until(steady::now() + pause, options_.stop);
}

} // namespace fencelock::detail
