#include "redlock_attempt.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "numbers.hpp"
#include "owner_id.hpp"

namespace fencelock::detail {

namespace {

std::size_t count(server_answers const& answers, vote_counter const& counts)
{
    return static_cast<std::size_t>(
        std::count_if(answers.begin(), answers.end(),
                      [&](auto const& answer) { return answer && counts(*answer); }));
}

bool is_ours(server_answer const& answer)
{
    bool const is_complete = answer.words.size() >= 5; // value, lineage, token, time
    return is_complete && (answer.says("TAKEN") || answer.says("HELD"));
}

bool is_granted(server_answer const& answer)
{
    return answer.says("GRANTED");
}

} // namespace

redlock_attempt::redlock_attempt(redlock_servers& servers, lease_request const& request)
    : servers_{servers}, request_{request}, keys_{keys_of(request.resource)}, id_{new_owner_id()}
{
}

redlock_attempt::~redlock_attempt()
{
    give_up();
}

redlock_attempt::votes redlock_attempt::lock()
{
    auto const start = steady::now();
    auto const pending = std::clamp(until(request_.deadline, start), milliseconds{1}, request_.ttl);
    pending_until_ = start + reliable(pending);
    round_rules const rules{
        is_ours,
        [](server_answer const& answer) { return answer.unresolved || answer.says("TAKEN"); },
        undoing()};
    answers_ = servers_.ask_all(
        {&redlock_lock_script,
         {keys_.lock},
         {request_.owner, id_, std::to_string(pending.count()), std::to_string(request_.above)}},
        servers_.limit(request_.ttl, request_.deadline), rules);
    for (std::size_t i = 0; i < answers_.size(); ++i)
        if (answers_[i] && is_ours(*answers_[i])) {
            auto const& words = answers_[i]->words;
            seats_.push_back({i, words[1], words[2], words[3]});
        }
    return judge();
}

redlock_attempt::votes redlock_attempt::judge()
{
    auto const says = [](std::string_view word) {
        return [word](server_answer const& answer) { return answer.says(word); };
    };
    auto const quorum = servers_.quorum();
    auto const ours = seats_.size();
    if (ours >= quorum)
        return votes::quorum;
    auto const of_others = count(answers_, says("BUSY"));
    auto const of_attempts = count(answers_, [](server_answer const& answer) {
        return answer.says("BUSY") && answer.words.size() > 2 && answer.words[1] == "0";
    });
    if (ours + of_others >= quorum)
        return of_attempts == of_others ? votes::split : votes::held;
    auto const broken = count(answers_, [](server_answer const& answer) { return answer.lost; });
    return ours + of_others + broken >= quorum ? votes::lost : votes::away;
}

std::optional<std::int64_t> redlock_attempt::token_held() const
{
    std::map<std::string, std::size_t> servers_of;
    for (auto const& one : seats_)
        if (one.token != "0" && ++servers_of[one.token] >= servers_.quorum())
            return to_token(one.token);
    return std::nullopt;
}

// Only servers whose vote was known before the token was issued are asked, and only those who still
// have what they had then say yes. Who does not say so in time gets no part in the lease.
std::optional<steady::time_point> redlock_attempt::grant(std::int64_t token)
{
    auto const token_text = std::to_string(token);
    auto const same_lease = token_held();
    is_same_lease_ = same_lease.has_value();
    auto const granted = token_text + ":" + id_ + ":" + request_.owner;
    std::vector<std::optional<server_request>> requests(servers_.size());
    for (auto const& one : seats_)
        if (!same_lease || one.token == token_text)
            requests[one.server] = {
                &redlock_grant_script,
                {keys_.lock},
                {one.value, granted, std::to_string(request_.ttl.count()), one.lineage}};
    round_rules const rules{
        is_granted,
        // Asked for as long as answers come, which may be after the end of this.
        [stays = is_same_lease_](server_answer const& answer) {
            return !stays && !answer.says("GONE");
        },
        undoing()};
    auto const sent_at = steady::now();
    if (!same_lease && sent_at >= pending_until_)
        return std::nullopt;
    answers_ = servers_.ask(requests, servers_.limit(request_.ttl, request_.deadline), rules);
    if (count(answers_, is_granted) < servers_.quorum()) {
        std::size_t possible = 0;
        for (std::size_t i = 0; i < requests.size(); ++i)
            possible += requests[i] &&
                        (!answers_[i] || answers_[i]->unresolved || is_granted(*answers_[i]));
        may_be_granted_ = possible >= servers_.quorum();
        return std::nullopt;
    }
    // The others have undone what they had, or hold nothing; but for those that were not asked.
    std::vector<seat> unused;
    for (auto& one : seats_)
        if (!requests[one.server])
            unused.push_back(std::move(one));
    seats_.clear();
    undo(unused);
    return sent_at;
}

void redlock_attempt::give_up() noexcept
{
    if (!is_same_lease_)
        undo(seats_);
    seats_.clear();
}

server_request redlock_attempt::undoing() const
{
    return {&redlock_release_script, {keys_.lock, keys_.wake}, {request_.owner, "", id_}, false};
}

void redlock_attempt::undo(std::vector<seat> const& seats) const noexcept
{
    for (auto const& one : seats)
        servers_.undo(one.server, undoing());
}

} // namespace fencelock::detail
