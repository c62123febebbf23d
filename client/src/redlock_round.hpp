// One request to all servers of a Redlock, and who has answered.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "redlock_server.hpp"

namespace fencelock::detail {

/// By server; nothing where there was no answer in time, or the server was not asked.
using server_answers = std::vector<std::optional<server_answer>>;

/// Whether an answer is one of those of which a quorum is needed.
using vote_counter = std::function<bool(server_answer const&)>;

/// Shared by the caller and the jobs that ask, which may outlive the caller's wait.
class redlock_round {
  public:
    redlock_round(std::size_t servers, std::size_t quorum, vote_counter counts);

    /// Before the server is asked. Its answer is worth waiting for even where it is not needed,
    /// unless it did not answer last time.
    void expect(std::size_t server, bool is_worth_waiting);

    /// False where nobody waits for it any more: then the caller does not know of this answer, and
    /// never will.
    bool hand_in(std::size_t server, server_answer const& answer);

    /// Once all are expected. Waits until a quorum of votes that count is there or cannot be
    /// reached, and a moment longer for the rest; at the latest until `deadline`.
    server_answers close(steady::time_point deadline);

  private:
    bool decided() const;

    std::size_t const quorum_;
    vote_counter const counts_;
    std::mutex mutex_;
    std::condition_variable changed_;
    server_answers answers_;
    std::vector<bool> worth_waiting_; // and not there yet
    std::size_t outstanding_ = 0;
    std::size_t votes_ = 0;
    bool closed_ = false;
};

} // namespace fencelock::detail
