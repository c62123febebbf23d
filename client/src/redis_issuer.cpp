#include "redis_issuer.hpp"

#include <array>
#include <span>
#include <thread>
#include <utility>

#include <fencelock/errors.hpp>

#include "damaged_key.hpp"
#include "keys.hpp"
#include "numbers.hpp"
#include "redis_cluster.hpp"
#include "redis_fault.hpp"
#include "redis_route.hpp"
#include "redis_waiter.hpp"
#include "unknown_outcome.hpp"

namespace fencelock::detail {

namespace {

// A seed takes two rounds; more are needed only where others seed, flush or fail over in between.
constexpr int most_rounds = 16;
constexpr milliseconds abandon_limit{250};

// Throws link_failure where the reply is not one of the scripts'.
std::vector<std::string> checked_words(redis_reply const& reply, redis_link& link)
{
    auto words = words_of(reply, link);
    bool const needs_values = words[0] == "GRANTED" || words[0] == "SEED";
    if (needs_values && words.size() < 3)
        throw link_failure{"a script has an unexpected reply", true};
    return words;
}

std::string milliseconds_text(milliseconds t)
{
    return std::to_string(t.count());
}

} // namespace

redis_issuer::redis_issuer(std::shared_ptr<redis_pool> pool, std::shared_ptr<database> db,
                           std::shared_ptr<observer> watch)
    : pool_{std::move(pool)}, database_{std::move(db)}, observer_{std::move(watch)}
{
}

std::optional<grant> redis_issuer::try_acquire(lease_request const& request)
{
    bool unresolved = false; // some attempt may have taken the lock, or still may
    try {
        block offered;
        for (int round = 0; round < most_rounds; ++round) {
            auto const [words, sent_at] = ask_acquire(request, offered, unresolved);
            if (words[0] == "GRANTED")
                return grant{to_token(words.at(1)), to_token(words.at(2)), sent_at};
            if (words[0] == "BUSY") {
                if (unresolved)
                    abandon(request);
                return std::nullopt;
            }
            if (words[0] == "SEED")
                offered = reserve(request, words.at(1), words.at(2));
            else if (steady::now() >= request.deadline) // LATE, and too late for another attempt
                break;
        }
        throw issuer_unavailable{pool_->place() + ": no lock of \"" + request.resource +
                                     "\" could be taken in time",
                                 request.resource};
    } catch (error const&) {
        if (unresolved)
            abandon(request);
        rethrow_as_unknown(unresolved, request.resource);
    }
}

std::unique_ptr<waiter> redis_issuer::new_waiter(std::string const& resource)
{
    return std::make_unique<redis_waiter>(pool_, resource);
}

std::optional<steady::time_point> redis_issuer::renew(held_lease const& lease, milliseconds ttl,
                                                      steady::time_point deadline)
{
    auto const keys = keys_for(lease.resource);
    bool unresolved = false;
    for (;;) {
        auto const [words, sent_at] = ask(
            [&](attempt const& now) {
                return run_script(now.link, renew_script, std::array{keys.lock},
                                  std::array{lease.owner, std::to_string(lease.token),
                                             milliseconds_text(ttl), not_after(now)},
                                  now.deadline);
            },
            keys, lease.resource, deadline, unresolved);
        if (words[0] == "RENEWED")
            return sent_at;
        if (words[0] == "LOST")
            return std::nullopt;
        if (steady::now() >= deadline && unresolved)
            throw outcome_unknown{pool_->place() + ": the renewal of \"" + lease.resource +
                                      "\" was not answered",
                                  lease.resource, lease.token};
        if (steady::now() >= deadline)
            throw issuer_unavailable{pool_->place() + ": the renewal of \"" + lease.resource +
                                         "\" came too late",
                                     lease.resource, lease.token};
    }
}

bool redis_issuer::release(held_lease const& lease, steady::time_point deadline)
{
    auto const keys = keys_for(lease.resource);
    // A plain counter is lifted by the next acquire: it is no hash, and not this client's alone.
    bool const passes_by = lease.refused_up_to != 0 && pool_->options().keys == key_preset::tagged;
    auto const refused = passes_by ? std::to_string(lease.refused_up_to) : std::string{};
    bool unresolved = false;
    bool by_lock_alone = false;
    auto const [words, sent_at] = ask(
        [&](attempt const& now) {
            return run_release(now, keys, {lease.owner, std::to_string(lease.token), refused},
                               by_lock_alone);
        },
        keys, lease.resource, deadline, unresolved);
    if (words[0] == "NOT_HELD" && unresolved) // perhaps by the attempt that was not answered
        throw outcome_unknown{pool_->place() + ": the release of \"" + lease.resource +
                                  "\" was not answered at first, and it is not held any more",
                              lease.resource, lease.token};
    return words[0] == "RELEASED";
}

std::string redis_issuer::server_for(std::string const& resource) const
{
    return pool_->topology().known_server_for(keys_for(resource).lock);
}

redis_issuer::answer redis_issuer::ask_acquire(lease_request const& request, block const& offered,
                                               bool& unresolved)
{
    auto const keys = keys_for(request.resource);
    if (pool_->options().keys == key_preset::plain)
        return ask(
            [&](attempt const& now) {
                return run_script(now.link, acquire_plain_script, std::array{keys.lock, keys.state},
                                  std::array{request.owner, milliseconds_text(request.ttl),
                                             not_after(now), std::to_string(request.above)},
                                  now.deadline);
            },
            keys, request.resource, request.deadline, unresolved);
    auto const history = offered.ticket.empty() ? database_->history() : offered.history;
    return ask(
        [&](attempt const& now) {
            std::vector<std::string> arguments{
                request.owner,  milliseconds_text(request.ttl),
                not_after(now), std::to_string(request.above),
                history,        milliseconds_text(pool_->options().state_idle)};
            if (!offered.ticket.empty())
                arguments.insert(arguments.end(), {offered.ticket, offered.before, offered.last});
            return run_script(now.link, acquire_script, std::array{keys.lock, keys.state},
                              arguments, now.deadline);
        },
        keys, request.resource, request.deadline, unresolved);
}

// Runs a request until it is answered. After an attempt that certainly did nothing, another one is
// made only where the route goes on; after one that may have done something, only an answer or the
// deadline ends the attempts.
template <typename Run>
redis_issuer::answer redis_issuer::ask(Run run, redis_keys const& keys, std::string const& resource,
                                       steady::time_point deadline, bool& unresolved)
try {
    redis_route route{*pool_, keys.lock};
    while (steady::now() < deadline) {
        std::unique_ptr<redis_link> link;
        try {
            link = route.take(deadline);
            auto const sent_at = steady::now();
            attempt const now{*link,
                              std::min(deadline, sent_at + pool_->options().command_timeout)};
            auto words = checked_words(run(now), *link);
            pool_->give_back(std::move(link));
            return {std::move(words), sent_at};
        } catch (link_failure const& failure) {
            unresolved = unresolved || failure.sent();
            if (!route.goes_on(failure, deadline) && !unresolved)
                break;
        } catch (redis_error const& e) {
            if (link && is_about_a_value(e.what()))
                throw_damaged(keys, *link, resource, deadline);
            pool_->give_back(std::move(link));
            if (!route.goes_on(e, deadline) && (!unresolved || is_configuration(e.what())))
                throw_reply(e.what(), pool_->place(), resource);
        } catch (configuration_error const& e) {
            throw configuration_error{pool_->place() + ": " + e.what(), resource};
        }
        // An attempt with hardly any time left would only make the outcome unknown.
        if (!unresolved && until(deadline) <= 2 * route.pause())
            break;
        std::this_thread::sleep_for(std::min(route.pause(), until(deadline)));
    }
    throw issuer_unavailable{pool_->place() + ": " + route.trouble(), resource};
} catch (error const&) {
    rethrow_as_unknown(unresolved, resource);
}

// Returns where the server does not say any more which of the keys it is.
void redis_issuer::throw_damaged(redis_keys const& keys, redis_link& link,
                                 std::string const& resource, steady::time_point deadline) const
try {
    throw configuration_error{pool_->place() + ": " +
                                  told_of_damaged(keys, pool_->options().keys, link, deadline),
                              resource};
} catch (link_failure const&) { // the script's own error has to do
}

redis_issuer::block redis_issuer::reserve(lease_request const& request, std::string const& ticket,
                                          std::string const& known_end)
try {
    auto const size = pool_->options().block_size;
    auto const above = std::max(request.above, to_token(known_end));
    auto const row = database_->call(
        [&](database_session& session) {
            auto& connection = *session.connection;
            return "SELECT " + session.schema + ".fence_issue(" +
                   connection.quote(request.resource) + "," + std::to_string(size) + "," +
                   std::to_string(above) + "," + connection.quote(ticket) + ")," + session.schema +
                   ".fence_history()";
        },
        request.resource, request.deadline);
    database_->note_history(row.at(1));
    auto const first = to_token(row.at(0));
    auto const last = first + (size - 1); // in this order: it may be the last number there is
    ++observer_->seeds;
    observer_->tell(log_level::info,
                    "reserved the tokens " + std::to_string(first) + " to " + std::to_string(last) +
                        " of \"" + request.resource + "\" for " + pool_->place(),
                    request.resource, first);
    return {ticket, std::to_string(first - 1), std::to_string(last), row[1]};
} catch (outcome_unknown const& e) {
    // A reservation that nobody uses hurts nobody, and the ticket brings the same one again.
    throw issuer_unavailable{e.what(), request.resource};
}

// The owner's lock, if some attempt took it after all, is of use to nobody. Attempts that are still
// on their way end at their not-after time.
void redis_issuer::abandon(lease_request const& request) noexcept
try {
    if (!request.owner_is_new)
        return;
    auto const keys = keys_for(request.resource);
    bool unresolved = false;
    bool by_lock_alone = false;
    ask(
        [&](attempt const& now) {
            return run_release(now, keys, {request.owner, {}, {}}, by_lock_alone);
        },
        keys, request.resource, steady::now() + abandon_limit, unresolved);
} catch (std::exception const&) { // the TTL ends it
}

// A script's keys have to lie on one node; tagged ones always do.
redis_keys redis_issuer::keys_for(std::string const& resource) const
{
    auto keys = keys_of(resource, pool_->options().keys);
    if (pool_->topology().has_slots() &&
        (slot_of(keys.state) != slot_of(keys.lock) || slot_of(keys.wake) != slot_of(keys.lock)))
        throw invalid_argument{"with plain keys in a cluster, the name of the resource \"" +
                                   resource +
                                   "\" needs a hash tag, as \"order:{1001}\" has: its keys have to "
                                   "lie in one slot",
                               resource};
    return keys;
}

// While a slot moves, no script is run for a key that is there and one that is not. A lock can be
// released all the same, from the beginning by its key alone, which is at one of the two nodes: the
// wake list is only a hint, and of tokens that were refused, the next refusal tells again.
redis_reply redis_issuer::run_release(attempt const& now, redis_keys const& keys,
                                      std::array<std::string, 3> const& arguments,
                                      bool& by_lock_alone)
try {
    std::array const all_keys{keys.lock, keys.wake, keys.state};
    std::span const used_keys{all_keys};
    std::span<std::string const> const used_arguments{arguments};
    if (by_lock_alone)
        return run_script(now.link, release_script, used_keys.first(1), used_arguments.first(2),
                          now.deadline);
    auto const used = arguments[2].empty() ? 2 : 3;
    return run_script(now.link, release_script, used_keys.first(used), used_arguments.first(used),
                      now.deadline);
} catch (redis_error const& e) {
    by_lock_alone = by_lock_alone || passes_at_once(e.what());
    throw;
}

std::string redis_issuer::not_after(attempt const& now)
{
    return std::to_string(now.link.server_time(now.deadline, now.deadline));
}

} // namespace fencelock::detail
