// Acquires locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <fencelock/export.hpp>
#include <fencelock/issuer.hpp>
#include <fencelock/lock.hpp>
#include <fencelock/lock_set.hpp>
#include <fencelock/observation.hpp>
#include <fencelock/redis_locks.hpp>
#include <fencelock/redlock_locks.hpp>

namespace fencelock {

namespace detail {
class core;
}

struct client_options {
    /// Where Redis, or of a Redlock a majority, cannot be reached, and its keys are not plain ones,
    /// take leases from PostgreSQL until it can. Tokens go on growing both ways; while only some
    /// clients have lost Redis, two may hold a lease, and the fence decides.
    bool fall_back = true;

    /// The longest that one attempt, renewal or release waits for answers.
    std::chrono::milliseconds attempt_timeout{2000};

    /// For how many resources it is remembered that a token was refused. Forgetting one costs
    /// another refusal, no more.
    std::size_t remembered_refusals = 10'000;

    /// How many connections to PostgreSQL are kept open while nobody uses them. So many
    /// transactions at a time do without connecting.
    std::size_t idle_connections = 8;

    /// Discard behind each transaction what its function may have left in a connection that is
    /// kept: settings, role, temporary tables, prepared statements, advisory locks. Where no
    /// function leaves any, switching it off saves PostgreSQL some work; behind PgBouncer's
    /// transaction mode it does not reach the right session anyway.
    bool reset_sessions = true;

    /// Told what happens beside what callers hear by themselves: blocks reserved, fallbacks, failed
    /// renewals, losses, refusals. Called by whatever thread finds out, several at once too: it
    /// should be short, must not use the client, and its exceptions are dropped.
    std::function<void(log_entry const&)> log{};
};

struct acquire_options {
    /// 1 ms to 1 year. The lease ends by itself so long after the last renewal.
    std::chrono::milliseconds ttl{std::chrono::seconds{30}};

    /// 0 to 1 year. How long to wait while others hold the lock, or no issuer can be reached; 0
    /// tries once.
    std::chrono::milliseconds wait{0};

    /// Renew at a third of the TTL, until the handle is released or destroyed.
    bool renew = true;

    /// Present the token in PostgreSQL before returning, which fences every earlier holder from
    /// then on. A token that is refused there is replaced unseen, within the wait.
    bool confirm = false;

    /// Ends the wait early: nothing is acquired then, unless it was granted at that moment.
    std::stop_token stop{};

    /// The id of the grant, 1 to 256 bytes of UTF-8 without NUL; empty: a new one. Whoever asks
    /// with the owner of a lease that still runs gets the same lease again, so it must not be
    /// shared by holders that are to exclude each other.
    std::string owner{};

    /// Called once, when the lease is found lost, with what lock_lost would say. By the renewing
    /// thread or by the thread that found out: it should be short, must not destroy the handle, and
    /// its exceptions are dropped.
    std::function<void(lock_lost const&)> on_lost{};
};

/// Thread-safe. Handles may outlive it. A client belongs to the process that made it: a forked
/// child has to make its own.
class FENCELOCK_EXPORT client {
  public:
    /// Locks in Redis, with tokens that the database at `conninfo` reserves. The database has the
    /// extension fencelock. Connects when first used, always with client_encoding UTF8; the
    /// connections also serve lock::transaction(). Throws invalid_argument.
    client(redis_locks& redis, std::string const& conninfo, client_options const& options = {});

    /// Locks on a majority of independent Redis servers, with tokens that the database issues, one
    /// with each grant. Otherwise the same.
    client(redlock_locks& servers, std::string const& conninfo, client_options const& options = {});

    /// Plain keys without a database: no token is checked, and what needs a database (confirm,
    /// lock::confirm(), lock::transaction() without a connection) throws configuration_error.
    /// Throws invalid_argument for tagged keys, whose tokens come from a database.
    explicit client(redis_locks& redis, client_options const& options = {});

    /// Leases in PostgreSQL alone.
    explicit client(std::string const& conninfo, client_options const& options = {});

    /// An issuer of the user's; the database checks its tokens.
    client(std::shared_ptr<issuer> issuer, std::string const& conninfo,
           client_options const& options = {});

    ~client();
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// Nothing where others held the lock until the wait was over, or was cancelled. `resource` is
    /// 1 to 1024 bytes of UTF-8 without NUL. Returns or throws by the later of options.wait and the
    /// attempt timeout, give or take the time to connect to PostgreSQL. Throws invalid_argument
    /// (nothing was sent), issuer_unavailable (nothing was taken), lock_lost (the TTL was over
    /// before the lock could be handed over), outcome_unknown, configuration_error; with `confirm`
    /// also what lock::confirm() throws.
    std::optional<lock> try_acquire(std::string const& resource,
                                    acquire_options const& options = {});

    /// The same, but throws lock_timeout instead of returning nothing.
    lock acquire(std::string const& resource, acquire_options const& options = {});

    /// Locks all of the resources, or none: one after the other in the order of their names, so
    /// that two who want the same ones never wait for each other, within one wait. Equal names
    /// count once. What was taken first is renewed while the rest is waited for (with
    /// options.renew), and released where it is waited for in vain. Throws as for one resource, and
    /// invalid_argument for none at all; options.on_lost is called for each that is lost. A single
    /// name in braces may be taken for that of one lock: give a vector where it is to be a set.
    std::optional<lock_set> try_acquire(std::vector<std::string> resources,
                                        acquire_options const& options = {});
    std::optional<lock_set> try_acquire(std::initializer_list<std::string_view> resources,
                                        acquire_options const& options = {});

    /// The same, but throws lock_timeout, which names the resource that was held by others.
    lock_set acquire(std::vector<std::string> resources, acquire_options const& options = {});
    lock_set acquire(std::initializer_list<std::string_view> resources,
                     acquire_options const& options = {});

    /// Extends a lease that is known by its values only, such as one that another process took.
    /// False where it is over, or never was. Asks each issuer until one knows it. Throws
    /// invalid_argument, issuer_unavailable, outcome_unknown, configuration_error.
    bool renew(held_lease const& lease, std::chrono::milliseconds ttl);

    /// Ends such a lease. False where it was over already, or never was. Throws as renew().
    bool release(held_lease const& lease);

    /// What became of a transaction whose commit was not answered, by the receipt of an
    /// outcome_unknown, or of fence_receipt() in a transaction of the caller's own. Throws
    /// invalid_argument, issuer_unavailable, configuration_error.
    commit_outcome outcome(std::string const& receipt);

    /// For metrics.
    client_counters counters() const noexcept;

  private:
    lock_set acquire_all(std::vector<std::string> resources, acquire_options const& options);
    void check(std::string const& resource, acquire_options const& options) const;
    template <typename Ask>
    bool any_issuer(Ask ask);
    void require_own_process(std::string const& resource) const;

    std::shared_ptr<detail::core> core_;
};

} // namespace fencelock
