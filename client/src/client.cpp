#include <fencelock/client.hpp>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <fencelock/errors.hpp>

#include "core.hpp"
#include "database_issuer.hpp"
#include "lease.hpp"
#include "limits.hpp"
#include "owner_id.hpp"
#include "pause.hpp"
#include "redis_issuer.hpp"
#include "redlock_issuer.hpp"

namespace fencelock {

namespace {

using detail::milliseconds;
using detail::steady;

// What another attempt must be given to be worth it, after tokens were refused twice.
constexpr milliseconds time_to_confirm{500};

// One acquire of one resource.
class acquisition {
  public:
    acquisition(std::shared_ptr<detail::core> shared, std::string const& resource,
                acquire_options const& options)
        : core_{std::move(shared)}, resource_{resource}, options_{options},
          owner_{options.owner.empty() ? detail::new_owner_id() : options.owner}
    {
        wait_end_ = steady::now() + options.wait;
    }

    // The lease, or nothing where others held it to the end.
    std::shared_ptr<detail::lease> run()
    {
        while (!options_.stop.stop_requested()) {
            trouble_ = nullptr;
            try {
                auto lease = attempt();
                if (lease && lease->hand_over(options_.on_lost))
                    return lease;
                if (lease)
                    throw issuer_unavailable{"the lease of \"" + resource_ +
                                                 "\" ended while it was being confirmed",
                                             resource_, lease->id().token};
            } catch (issuer_unavailable const&) {
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

  private:
    void pause()
    {
        if (trouble_) {
            waiter_.reset();
            detail::pause_until(std::min(wait_end_, steady::now() + detail::retry_pause()),
                                options_.stop);
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

    std::shared_ptr<detail::lease> attempt()
    {
        auto const end = std::max(wait_end_, steady::now() + core_->options.attempt_timeout);
        for (bool first = true;; first = false) {
            auto lease = ask_issuers();
            if (!lease || !options_.confirm || confirmed(*lease, end, first))
                return lease;
        }
    }

    // The next issuer is asked only where one cannot be reached, never where it says that others
    // hold the lock.
    std::shared_ptr<detail::lease> ask_issuers()
    {
        std::string troubles;
        for (auto const& issuer : core_->issuers) {
            try {
                auto lease = ask(issuer);
                if (lease && !troubles.empty())
                    fell_back(*lease, troubles);
                return lease;
            } catch (issuer_unavailable const& e) {
                if (&issuer == &core_->issuers.back() && troubles.empty())
                    throw;
                troubles += (troubles.empty() ? "" : "; ") + std::string{e.what()};
            } catch (outcome_unknown const& e) {
                if (&issuer == &core_->issuers.back())
                    throw;
                troubles += (troubles.empty() ? "" : "; ") + std::string{e.what()};
            }
        }
        throw issuer_unavailable{troubles, resource_};
    }

    void fell_back(detail::lease const& lease, std::string const& why)
    {
        ++core_->observer->fallbacks;
        core_->observer->tell(log_level::warning,
                              "the lock of \"" + resource_ +
                                  "\" is a lease in PostgreSQL, because " + why,
                              resource_, lease.id().token);
    }

    std::shared_ptr<detail::lease> ask(std::shared_ptr<issuer> const& issuer)
    {
        auto const granted = issuer->try_acquire(
            {resource_, owner_, options_.ttl, core_->refusals.above(resource_),
             steady::now() + core_->options.attempt_timeout, options_.owner.empty()});
        if (!granted) {
            ++core_->observer->contended;
            refused_by_ = issuer;
            return nullptr;
        }
        core_->refusals.granted(resource_, granted->token);
        auto lease = std::make_shared<detail::lease>(
            core_, issuer, held_lease{resource_, owner_, granted->token}, *granted, options_);
        if (steady::now() >= lease->valid_until()) {
            lease->release();
            throw issuer_unavailable{
                "the lock of \"" + resource_ + "\" was granted, but its TTL of " +
                    std::to_string(options_.ttl.count()) + " ms was over before the answer came",
                resource_, granted->token};
        }
        core_->renewer.add(lease, lease->first_visit());
        return lease;
    }

    // False where the token was refused and there is time for another.
    bool confirmed(detail::lease& lease, steady::time_point end, bool first)
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
        } catch (...) {
            if (options_.owner.empty()) // else it may be that of an earlier acquire
                lease.release();
            throw;
        }
        if (options_.owner.empty())
            owner_ = detail::new_owner_id();
        return false;
    }

    // One refusal teaches what the next token has to be above. More have another cause, which may
    // not pass in time: then the refusal is what the caller hears, not a timeout.
    void pause_or_rethrow(steady::time_point end, bool first)
    {
        auto const pause = first ? milliseconds{0} : detail::retry_pause();
        auto const needed = first ? milliseconds{0} : time_to_confirm;
        if (steady::now() + pause + needed >= end || options_.stop.stop_requested())
            throw;
        detail::pause_until(steady::now() + pause, options_.stop);
    }

    std::shared_ptr<detail::core> const core_;
    std::string const& resource_;
    acquire_options const& options_;
    std::string owner_;
    steady::time_point wait_end_;
    std::exception_ptr trouble_;
    bool waited_ = false;
    std::shared_ptr<issuer> refused_by_; // said that others hold the lock
    std::shared_ptr<issuer> waits_for_;
    std::unique_ptr<waiter> waiter_; // of waits_for_
};

std::shared_ptr<detail::core> make_core(std::vector<std::shared_ptr<issuer>> issuers,
                                        std::shared_ptr<detail::database> db,
                                        client_options const& options,
                                        std::shared_ptr<detail::observer> watch)
{
    detail::check_timeout(options.attempt_timeout, "attempt_timeout");
    return std::make_shared<detail::core>(std::move(issuers), std::move(db), options,
                                          std::move(watch));
}

std::shared_ptr<detail::observer> make_observer(client_options const& options)
{
    return std::make_shared<detail::observer>(options.log);
}

} // namespace

client::client(redis_locks& redis, std::string const& conninfo, client_options const& options)
{
    auto const db = std::make_shared<detail::database>(conninfo, options.idle_connections);
    auto const watch = make_observer(options);
    std::vector<std::shared_ptr<issuer>> issuers{
        std::make_shared<detail::redis_issuer>(redis.pool_, db, watch)};
    if (options.fall_back && redis.pool_->options().keys != key_preset::plain)
        issuers.push_back(std::make_shared<detail::database_issuer>(db));
    core_ = make_core(std::move(issuers), db, options, watch);
}

client::client(redlock_locks& servers, std::string const& conninfo, client_options const& options)
{
    auto const db = std::make_shared<detail::database>(conninfo, options.idle_connections);
    auto const watch = make_observer(options);
    std::vector<std::shared_ptr<issuer>> issuers{
        std::make_shared<detail::redlock_issuer>(servers.pools_, db, watch)};
    if (options.fall_back)
        issuers.push_back(std::make_shared<detail::database_issuer>(db));
    core_ = make_core(std::move(issuers), db, options, watch);
}

client::client(redis_locks& redis, client_options const& options)
{
    if (redis.pool_->options().keys != key_preset::plain)
        throw invalid_argument{"tagged keys need a database that reserves their tokens: give the "
                               "client its connection string, or use plain keys"};
    auto const none = std::make_shared<detail::database>(std::nullopt);
    auto const watch = make_observer(options);
    core_ = make_core({std::make_shared<detail::redis_issuer>(redis.pool_, none, watch)}, none,
                      options, watch);
}

client::client(std::string const& conninfo, client_options const& options)
{
    auto const db = std::make_shared<detail::database>(conninfo, options.idle_connections);
    core_ = make_core({std::make_shared<detail::database_issuer>(db)}, db, options,
                      make_observer(options));
}

client::client(std::shared_ptr<issuer> issuer, std::string const& conninfo,
               client_options const& options)
{
    if (!issuer)
        throw invalid_argument{"the issuer is null"};
    core_ = make_core({std::move(issuer)},
                      std::make_shared<detail::database>(conninfo, options.idle_connections),
                      options, make_observer(options));
}

client::~client()
{
    if (!core_->belongs_to_this_process())
        new (std::nothrow) std::shared_ptr<detail::core>{std::move(core_)};
}

std::optional<lock> client::try_acquire(std::string const& resource, acquire_options const& options)
{
    check(resource, options);
    auto lease = acquisition{core_, resource, options}.run();
    if (!lease)
        return std::nullopt;
    ++core_->observer->acquired;
    return lock{std::move(lease)};
}

lock client::acquire(std::string const& resource, acquire_options const& options)
{
    if (auto taken = try_acquire(resource, options))
        return std::move(*taken);
    if (options.stop.stop_requested())
        throw lock_timeout{"waiting for the lock of \"" + resource + "\" was cancelled", resource};
    throw lock_timeout{"the lock of \"" + resource + "\" is held by others (waited for " +
                           std::to_string(options.wait.count()) + " ms)",
                       resource};
}

commit_outcome client::outcome(std::string const& receipt)
{
    require_own_process({});
    return core_->db->outcome_of(receipt, detail::steady::now() + core_->options.attempt_timeout);
}

client_counters client::counters() const noexcept
{
    return core_->observer->counters();
}

std::optional<lock_set> client::try_acquire(std::vector<std::string> resources,
                                            acquire_options const& options)
try {
    return acquire_all(std::move(resources), options);
} catch (lock_timeout const&) {
    return std::nullopt;
}

std::optional<lock_set> client::try_acquire(std::initializer_list<std::string_view> resources,
                                            acquire_options const& options)
{
    return try_acquire(std::vector<std::string>{resources.begin(), resources.end()}, options);
}

lock_set client::acquire(std::vector<std::string> resources, acquire_options const& options)
{
    return acquire_all(std::move(resources), options);
}

lock_set client::acquire(std::initializer_list<std::string_view> resources,
                         acquire_options const& options)
{
    return acquire_all({resources.begin(), resources.end()}, options);
}

lock_set client::acquire_all(std::vector<std::string> resources, acquire_options const& options)
{
    if (resources.empty())
        throw invalid_argument{"no resource to lock"};
    for (auto const& resource : resources)
        check(resource, options);
    std::sort(resources.begin(), resources.end());
    resources.erase(std::unique(resources.begin(), resources.end()), resources.end());

    auto const wait_end = detail::steady::now() + options.wait;
    auto one_by_one = options;
    one_by_one.on_lost = nullptr; // the caller holds nothing yet
    std::stop_source lost;
    auto const on_lost = [lost, tell = options.on_lost](lock_lost const& e) mutable {
        lost.request_stop();
        if (tell)
            tell(e);
    };
    std::vector<lock> taken;
    for (auto const& resource : resources) {
        one_by_one.wait = detail::until(wait_end);
        taken.push_back(acquire(resource, one_by_one));
    }
    lock_set all{std::move(taken), std::move(lost)};
    // One that ran out while others were waited for is gone: then it is none.
    for (auto& one : all.locks())
        if (!one.lease().hand_over(on_lost))
            throw lock_timeout{"the lock of \"" + one.resource() +
                                   "\" ran out while others were waited for",
                               one.resource(), one.token()};
    return all;
}

void client::check(std::string const& resource, acquire_options const& options) const
{
    require_own_process(resource);
    detail::check_resource(resource);
    detail::check_ttl(options.ttl, resource);
    detail::check_wait(options.wait, resource);
    if (!options.owner.empty())
        detail::check_owner(options.owner, resource);
}

bool client::renew(held_lease const& lease, std::chrono::milliseconds ttl)
{
    detail::check_lease(lease);
    detail::check_ttl(ttl, lease.resource);
    return any_issuer([&](issuer& one, detail::steady::time_point deadline) {
        return one.renew(lease, ttl, deadline).has_value();
    });
}

bool client::release(held_lease const& lease)
{
    detail::check_lease(lease);
    return any_issuer([&](issuer& one, detail::steady::time_point deadline) {
        return one.release(lease, deadline);
    });
}

// Any of them may have granted the lease. That one does not know it says nothing while another
// cannot be asked.
template <typename Ask>
bool client::any_issuer(Ask ask)
{
    require_own_process({});
    std::exception_ptr trouble;
    for (auto const& one : core_->issuers) {
        try {
            if (ask(*one, detail::steady::now() + core_->options.attempt_timeout))
                return true;
        } catch (issuer_unavailable const&) {
            trouble = std::current_exception();
        } catch (outcome_unknown const&) {
            trouble = std::current_exception();
        }
    }
    if (trouble)
        std::rethrow_exception(trouble);
    return false;
}

void client::require_own_process(std::string const& resource) const
{
    if (!core_->belongs_to_this_process())
        throw invalid_argument{"this client is the parent's: a forked child has to make its own",
                               resource};
}

} // namespace fencelock
