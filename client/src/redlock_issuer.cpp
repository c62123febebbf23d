#include "redlock_issuer.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fencelock/errors.hpp>

#include "keys.hpp"
#include "numbers.hpp"
#include "pause.hpp"
#include "redlock_waiter.hpp"
#include "unknown_outcome.hpp"

namespace fencelock::detail {

namespace {

// Competitors that split the votes give them back and come again at different moments.
constexpr int most_attempts = 4;
constexpr milliseconds least_pause{10};
constexpr milliseconds most_pause{50};

constexpr milliseconds pause_before_repeat{20};

// False where the deadline is too near for it.
bool pause_until_another(steady::time_point deadline)
{
    auto const pause = random_pause(least_pause, most_pause);
    if (until(deadline) <= 2 * pause)
        return false;
    std::this_thread::sleep_for(pause);
    return true;
}

struct tally {
    std::size_t said = 0;       // the word
    std::size_t denied = 0;     // another word
    std::size_t unresolved = 0; // may say it yet, or again
    std::size_t silent = 0;     // all that did not answer, these included
};

tally tally_of(server_answers const& answers, std::string_view word)
{
    tally result;
    for (auto const& answer : answers) {
        bool const answered = answer && !answer->words.empty() && !answer->says("LATE");
        result.said += answered && answer->says(word);
        result.denied += answered && !answer->says(word);
        result.silent += !answered;
        result.unresolved += !answer || answer->unresolved || answer->says("LATE");
    }
    return result;
}

} // namespace

redlock_issuer::redlock_issuer(std::vector<std::shared_ptr<redis_pool>> const& pools,
                               std::shared_ptr<database> db, std::shared_ptr<observer> const& watch)
    : pools_{pools}, database_{std::move(db)}, servers_{pools, watch}
{
}

std::optional<grant> redlock_issuer::try_acquire(lease_request const& request)
{
    bool is_unknown = false; // some attempt may have been granted, or may yet be
    try {
        return attempt_until_decided(request, is_unknown);
    } catch (error const&) {
        rethrow_as_unknown(is_unknown, request.resource);
    }
}

std::optional<grant> redlock_issuer::attempt_until_decided(lease_request const& request,
                                                           bool& is_unknown)
{
    for (int number = 1;; ++number) {
        redlock_attempt attempt{servers_, request};
        auto const votes = attempt.lock();
        if (votes == redlock_attempt::votes::quorum) {
            auto const same = attempt.token_held();
            auto const token = same ? *same : issue(request, attempt.id());
            if (auto const from = attempt.grant(token))
                return grant{token, token, *from};
            is_unknown = is_unknown || attempt.may_be_granted();
        }
        attempt.give_up();
        bool const is_held = votes == redlock_attempt::votes::held;
        bool const is_away = votes == redlock_attempt::votes::away;
        if (!is_held && !is_away && number < most_attempts && pause_until_another(request.deadline))
            continue;
        bool const is_of_others = is_held || votes == redlock_attempt::votes::split;
        if (is_of_others && !is_unknown)
            return std::nullopt;
        if (is_of_others) // on some servers: on the rest it may be the owner's
            throw held_by_others{"a grant of the lock of \"" + request.resource +
                                     "\" was not answered, and then others had votes",
                                 request.resource};
        fail("the lock of \"" + request.resource + "\" could not be taken", attempt.answers(),
             request.ttl, is_unknown, {request.resource, request.owner});
    }
}

std::unique_ptr<waiter> redlock_issuer::new_waiter(std::string const& resource)
{
    return std::make_unique<redlock_waiter>(pools_, resource);
}

// Asks all again while a quorum may still be had: each time counts for itself. What was asked for
// earlier, and not answered, may have been done all the same.
std::optional<steady::time_point> redlock_issuer::renew(held_lease const& lease, milliseconds ttl,
                                                        steady::time_point deadline)
{
    auto const keys = keys_of(lease.resource);
    server_request const request{
        &redlock_renew_script,
        {keys.lock},
        {lease.owner, std::to_string(lease.token), std::to_string(ttl.count())}};
    round_rules const rules{[](server_answer const& answer) { return answer.says("RENEWED"); },
                            [](server_answer const&) { return false; },
                            {}};
    std::vector<bool> may_be_renewed(servers_.size());
    for (;;) {
        auto const sent_at = steady::now();
        auto const answers = servers_.ask_all(request, servers_.limit(ttl, deadline), rules);
        for (std::size_t i = 0; i < answers.size(); ++i)
            if (!answers[i] || answers[i]->unresolved || answers[i]->says("RENEWED"))
                may_be_renewed[i] = true;
        auto const votes = tally_of(answers, "RENEWED");
        if (votes.said >= servers_.quorum())
            return sent_at;
        if (votes.said + votes.silent < servers_.quorum()) {
            if (votes.said + votes.silent > 0)
                give_back(lease, deadline);
            return std::nullopt;
        }
        bool const hopeless = votes.said + votes.unresolved < servers_.quorum();
        if (hopeless || until(deadline) <= 2 * pause_before_repeat) {
            auto const renewed = std::count(may_be_renewed.begin(), may_be_renewed.end(), true);
            fail("the lock of \"" + lease.resource + "\" could not be renewed", answers, ttl,
                 static_cast<std::size_t>(renewed) >= servers_.quorum(), lease);
        }
        std::this_thread::sleep_for(pause_before_repeat);
    }
}

// It is over: what a minority has of it, and may just have extended, would keep others out for
// nothing.
void redlock_issuer::give_back(held_lease const& lease, steady::time_point deadline) noexcept
try {
    release(lease, deadline);
} catch (std::exception const&) { // the TTL ends it
}

// Once a quorum of servers has nothing of the lease, others can take the lock. Those that did not
// answer are told in the background.
bool redlock_issuer::release(held_lease const& lease, steady::time_point deadline)
{
    auto const keys = keys_of(lease.resource);
    server_request const request{&redlock_release_script,
                                 {keys.lock, keys.wake},
                                 {lease.owner, std::to_string(lease.token), ""},
                                 false};
    auto const has_answered = [](server_answer const& answer) { return !answer.words.empty(); };
    round_rules const rules{has_answered, std::not_fn(has_answered), request};
    auto const answers = servers_.ask_all(
        request, std::min(deadline, steady::now() + pools_.front()->options().redlock_timeout),
        rules);
    auto const votes = tally_of(answers, "RELEASED");
    if (votes.said + votes.denied >= servers_.quorum())
        return votes.said > 0 && votes.said + votes.silent >= servers_.quorum();
    // Where one has let go, the silent ones may have had no part in the lock: then it has ended.
    bool const may_have_ended = votes.said + votes.unresolved > 0;
    auto const name = "the lock of \"" + lease.resource + '"';
    fail(may_have_ended ? "whether " + name + " has ended is not known"
                        : name + " could not be released",
         answers, {}, may_have_ended, lease);
}

// With the attempt's own ticket, so that asking again after a lost answer costs no second token. A
// token that nobody uses hurts nobody: whether it was issued does not matter.
std::int64_t redlock_issuer::issue(lease_request const& request, std::string const& ticket)
try {
    auto const row = database_->call(
        [&](database_session& session) {
            auto& connection = *session.connection;
            return "SELECT " + session.schema + ".fence_issue(" +
                   connection.quote(request.resource) + ",1," + std::to_string(request.above) +
                   "," + connection.quote(ticket) + ")";
        },
        request.resource, request.deadline);
    return to_token(row.at(0));
} catch (outcome_unknown const& e) {
    throw issuer_unavailable{e.what(), request.resource};
}

void redlock_issuer::fail(std::string const& what, server_answers const& answers,
                          std::optional<milliseconds> ttl, bool is_unknown,
                          held_lease const& of) const
try {
    auto text = what + ": " + servers_.troubles(answers, of.resource);
    if (ttl && servers_.share_of(*ttl) < pools_.front()->options().redlock_timeout)
        text += "; a TTL of " + std::to_string(ttl->count()) + " ms leaves each of them " +
                std::to_string(servers_.share_of(*ttl).count()) +
                " ms to answer, a quarter of it: take a longer one";
    throw issuer_unavailable{text, of.resource, of.token};
} catch (error const&) { // of what is wrong with the servers, too
    rethrow_as_unknown(is_unknown, of.resource);
}

} // namespace fencelock::detail
