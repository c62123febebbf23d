#include "redlock_servers.hpp"

#include <utility>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

// One server's part in a round, done by a thread of the server's.
struct round_part {
    redlock_server& server;
    std::size_t number;
    server_request request;
    steady::time_point deadline;
    std::shared_ptr<redlock_round> round;
    std::shared_ptr<round_rules const> rules;

    void play() const noexcept
    {
        std::unique_ptr<redis_link> link;
        try {
            auto const answer = server.ask(request, deadline, link);
            bool const counted = round->hand_in(number, answer) && rules->counts(answer);
            if (counted || !rules->leaves_something(answer))
                server.pool().give_back(std::move(link));
            else
                server.undo(rules->undo, std::move(link), expired());
        } catch (std::exception const&) { // no memory: nobody knows how far it came
            if (rules->undo.what)
                server.undo(rules->undo, std::move(link), expired());
        }
    }

    // What may be executed at any time has nothing to wait for.
    steady::time_point expired() const { return request.expires ? deadline : steady::now(); }
};

} // namespace

redlock_servers::redlock_servers(std::vector<std::shared_ptr<redis_pool>> const& pools,
                                 std::shared_ptr<observer> const& watch)
{
    for (auto const& pool : pools)
        servers_.push_back(std::make_unique<redlock_server>(pool, watch));
}

milliseconds redlock_servers::share_of(milliseconds ttl)
{
    return std::max(ttl / 4, milliseconds{1});
}

steady::time_point redlock_servers::limit(milliseconds ttl, steady::time_point deadline) const
{
    auto const most = servers_.front()->pool().options().redlock_timeout;
    return std::min(deadline, steady::now() + std::min(most, share_of(ttl)));
}

server_answers redlock_servers::ask(std::vector<std::optional<server_request>> const& requests,
                                    steady::time_point deadline, round_rules const& rules)
{
    auto const shared = std::make_shared<round_rules const>(rules);
    auto const round = std::make_shared<redlock_round>(size(), quorum(), rules.counts);
    for (std::size_t i = 0; i < size(); ++i)
        if (requests[i])
            round->expect(i, servers_[i]->takes_part());
    for (std::size_t i = 0; i < size(); ++i) {
        if (!requests[i])
            continue;
        try {
            round_part part{*servers_[i], i, *requests[i], deadline, round, shared};
            servers_[i]->add([part = std::move(part)] { part.play(); });
        } catch (std::exception const& e) { // no memory, no thread
            server_answer answer;
            answer.trouble = e.what();
            round->hand_in(i, answer);
        }
    }
    return round->close(deadline);
}

server_answers redlock_servers::ask_all(server_request const& request, steady::time_point deadline,
                                        round_rules const& rules)
{
    return ask(std::vector<std::optional<server_request>>(size(), request), deadline, rules);
}

void redlock_servers::undo(std::size_t server, server_request const& request) noexcept
try {
    auto& one = *servers_.at(server);
    one.add([&one, request] { one.undo(request, nullptr, steady::now()); });
} catch (std::exception const&) { // no memory, no thread: the TTL ends what is there
}

std::string redlock_servers::troubles(server_answers const& answers,
                                      std::string const& resource) const
{
    std::string text;
    std::size_t misconfigured = 0;
    for (std::size_t i = 0; i < size(); ++i) {
        std::string trouble = "no answer in time";
        if (answers[i] && answers[i]->words.empty())
            trouble = answers[i]->trouble;
        else if (answers[i] && !answers[i]->says("LATE"))
            continue;
        text += (text.empty() ? "" : "; ") + servers_[i]->pool().place() + ": " + trouble;
        misconfigured += answers[i] && answers[i]->misconfigured ? 1 : 0;
    }
    if (text.empty())
        text =
            "all answered, but a vote was gone before it was counted: a server has restarted, or "
            "is listed under two names, as fencelock doctor would tell";
    text = "no " + std::to_string(quorum()) + " of " + std::to_string(size()) +
           " servers of the Redlock (" + text + ")";
    if (misconfigured > size() - quorum())
        throw configuration_error{text, resource};
    return text;
}

} // namespace fencelock::detail
