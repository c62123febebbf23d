// The independent servers of a Redlock, asked together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redlock_round.hpp"

namespace fencelock::detail {

/// What is to become of the servers' answers.
struct round_rules {
    /// Of these, a quorum is needed.
    vote_counter counts;

    /// Whether a server that answered so, or not at all, may keep something that has to be undone,
    /// unless the caller has got the answer in time and counts it.
    vote_counter leaves_something;
    server_request undo;
};

class redlock_servers {
  public:
    redlock_servers(std::vector<std::shared_ptr<redis_pool>> const& pools,
                    std::shared_ptr<observer> const& watch);

    std::size_t size() const noexcept { return servers_.size(); }

    /// More than half of them: any two quorums share a server.
    std::size_t quorum() const noexcept { return servers_.size() / 2 + 1; }

    /// How much of a TTL one server may take to answer.
    static milliseconds share_of(milliseconds ttl);

    /// When one server has to have answered what belongs to a lease of this TTL.
    steady::time_point limit(milliseconds ttl, steady::time_point deadline) const;

    /// Asks all at once, one request for each server or nothing, within one deadline. Throws
    /// nothing that a failing server could cause.
    server_answers ask(std::vector<std::optional<server_request>> const& requests,
                       steady::time_point deadline, round_rules const& rules);
    server_answers ask_all(server_request const& request, steady::time_point deadline,
                           round_rules const& rules);

    /// Without waiting for it.
    void undo(std::size_t server, server_request const& request) noexcept;

    /// What is wrong with those that did not answer, for messages. Throws configuration_error where
    /// there is no quorum of others.
    std::string troubles(server_answers const& answers, std::string const& resource) const;

  private:
    std::vector<std::unique_ptr<redlock_server>> servers_;
};

} // namespace fencelock::detail
