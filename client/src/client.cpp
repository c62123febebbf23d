#include <fencelock/client.hpp>

#include <algorithm>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <fencelock/errors.hpp>

#include "acquisition.hpp"
#include "core.hpp"
#include "database_issuer.hpp"
#include "lease.hpp"
#include "limits.hpp"
#include "redis_issuer.hpp"
#include "redlock_issuer.hpp"

namespace fencelock {

namespace {

std::shared_ptr<detail::core> make_core(std::vector<std::shared_ptr<issuer>> issuers,
                                        std::shared_ptr<detail::database> db,
                                        client_options const& options,
                                        std::shared_ptr<detail::observer> watch)
{
    detail::check_timeout(options.attempt_timeout, "attempt_timeout");
    return std::make_shared<detail::core>(std::move(issuers), std::move(db), options,
                                          std::move(watch));
}

std::shared_ptr<detail::database> make_database(std::string const& conninfo,
                                                client_options const& options)
{
    return std::make_shared<detail::database>(conninfo, options.idle_connections,
                                              options.reset_sessions);
}

std::shared_ptr<detail::observer> make_observer(client_options const& options)
{
    return std::make_shared<detail::observer>(options.log);
}

template <typename Error>
Error with_name(Error const& e, std::string const& resource)
{
    auto const name = '"' + resource + '"';
    std::string what = e.what();
    if (what.find(name) == std::string::npos)
        what.insert(0, "the lock of " + name + ": ");
    if constexpr (std::is_same_v<Error, outcome_unknown>)
        return Error{what, resource, e.token(), e.receipt()};
    else
        return Error{what, resource, e.token()};
}

// In a handler of it. What an issuer derives from these classes stays what it is.
template <typename Error>
[[noreturn]] void rethrow_with_name(Error const& e, std::string const& resource)
{
    try {
        if (typeid(e) == typeid(Error))
            throw with_name(e, resource);
    } catch (std::bad_alloc const&) { // then without it
    }
    throw;
}

// What is told of a server says whose lock it is about, wherever it was found.
template <typename Ask>
auto naming(std::string const& resource, Ask ask)
try {
    return ask();
} catch (issuer_unavailable const& e) {
    rethrow_with_name(e, resource);
} catch (configuration_error const& e) {
    rethrow_with_name(e, resource);
} catch (outcome_unknown const& e) {
    rethrow_with_name(e, resource);
}

} // namespace

client::client(redis_locks& redis, std::string const& conninfo, client_options const& options)
{
    auto const db = make_database(conninfo, options);
    auto const watch = make_observer(options);
    std::vector<std::shared_ptr<issuer>> issuers{
        std::make_shared<detail::redis_issuer>(redis.pool_, db, watch)};
    if (options.fall_back && redis.pool_->options().keys != key_preset::plain)
        issuers.push_back(std::make_shared<detail::database_issuer>(db));
    core_ = make_core(std::move(issuers), db, options, watch);
}

client::client(redlock_locks& servers, std::string const& conninfo, client_options const& options)
{
    auto const db = make_database(conninfo, options);
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
    auto const db = make_database(conninfo, options);
    core_ = make_core({std::make_shared<detail::database_issuer>(db)}, db, options,
                      make_observer(options));
}

client::client(std::shared_ptr<issuer> issuer, std::string const& conninfo,
               client_options const& options)
{
    if (!issuer)
        throw invalid_argument{"the issuer is null"};
    core_ = make_core({std::move(issuer)}, make_database(conninfo, options), options,
                      make_observer(options));
}

client::~client()
{
    if (!core_->belongs_to_this_process())
        new (std::nothrow) std::shared_ptr<detail::core>{std::move(core_)};
}

std::optional<lock> client::try_acquire(std::string const& resource, acquire_options const& options)
{
    check(resource, options);
    auto lease = naming(resource, [&] {
        return detail::acquisition{core_, resource, options}.run();
    });
    if (!lease)
        return std::nullopt;
    ++core_->observer->acquired;
    return lock{std::move(lease)};
}

lock client::acquire(std::string const& resource, acquire_options const& options)
{
    check(resource, options);
    detail::acquisition one{core_, resource, options};
    if (auto lease = naming(resource, [&] { return one.run(); })) {
        ++core_->observer->acquired;
        return lock{std::move(lease)};
    }
    auto const& name = "\"" + resource + "\"";
    if (options.stop.stop_requested())
        throw lock_timeout{"waiting for the lock of " + name + " was cancelled", resource};
    auto const where = one.why_fell_back().empty()
                           ? std::string{}
                           : ": it was asked for in PostgreSQL, because " + one.why_fell_back();
    throw lock_timeout{"the lock of " + name + " is held by others (waited for " +
                           std::to_string(options.wait.count()) + " ms)" + where,
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
    // One may have run out while others were waited for: then it is none.
    for (auto& one : all.locks())
        if (!one.lease().hand_over(on_lost))
            one.lease().require_held(); // throws what it was lost by
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
    return naming(lease.resource, [&] {
        return any_issuer([&](issuer& one, detail::steady::time_point deadline) {
            return one.renew(lease, ttl, deadline).has_value();
        });
    });
}

bool client::release(held_lease const& lease)
{
    detail::check_lease(lease);
    return naming(lease.resource, [&] {
        return any_issuer([&](issuer& one, detail::steady::time_point deadline) {
            return one.release(lease, deadline);
        });
    });
}

// Any of them may have granted the lease. That one does not know it says nothing while another
// cannot be asked, and that one fails, for whatever reason, says nothing of what another may have
// done. What somebody has to change is told before what may pass.
template <typename Ask>
bool client::any_issuer(Ask ask)
{
    require_own_process({});
    std::exception_ptr unknown;
    std::exception_ptr refused;
    std::exception_ptr away;
    for (auto const& one : core_->issuers) {
        try {
            if (ask(*one, detail::steady::now() + core_->options.attempt_timeout))
                return true;
        } catch (outcome_unknown const&) {
            unknown = std::current_exception();
        } catch (configuration_error const&) {
            refused = std::current_exception();
        } catch (issuer_unavailable const&) {
            away = std::current_exception();
        }
    }
    for (auto const& trouble : {unknown, refused, away})
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
