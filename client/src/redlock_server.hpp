// One of the independent servers of a Redlock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "observer.hpp"
#include "redis_pool.hpp"
#include "worker_pool.hpp"

namespace fencelock::detail {

/// A script to be run on one server.
struct server_request {
    script const* what = nullptr;
    std::vector<std::string> keys;
    std::vector<std::string> arguments;

    /// The script takes one argument more: the time, of the server's clock, from which on it does
    /// nothing, which is the deadline of the request.
    bool expires = true;
};

/// What came of it.
struct server_answer {
    std::vector<std::string> words; ///< what the script replied; empty: nothing, or an error
    bool unresolved = false;        ///< no words, but it may have been run, or still be
    bool lost = false;              ///< unresolved, because the connection broke
    bool misconfigured = false;     ///< trying again is pointless
    std::string trouble;            ///< why there are no words

    bool says(std::string_view word) const { return !words.empty() && words.front() == word; }
};

class redlock_server {
  public:
    redlock_server(std::shared_ptr<redis_pool> pool, std::shared_ptr<observer> watch);

    /// Runs a job in the background, which may use ask() and undo(). Throws as worker_pool::add.
    void add(std::function<void()> job) { workers_.add(std::move(job)); }

    /// Sends the request once. `link` gets the connection that it was sent over: where the answer
    /// did not come in time, what is sent over the same one is executed after it.
    server_answer ask(server_request const& request, steady::time_point deadline,
                      std::unique_ptr<redis_link>& link);

    /// Runs what takes back, or completes, a request that was sent over `link`, so that it is
    /// executed after that one: behind it on the same connection, or, where that is broken, at
    /// `expired`, when it is not executed any more. A server that cannot be reached for a while is
    /// left to the TTL; one that did not answer last time at once, but by a few that keep trying.
    void undo(server_request const& request, std::unique_ptr<redis_link> link,
              steady::time_point expired) noexcept;

    /// It answered last time, or has not been asked yet.
    bool takes_part() const noexcept { return takes_part_; }

    redis_pool& pool() const noexcept { return *pool_; }

  private:
    server_answer run(server_request const& request, steady::time_point deadline,
                      std::unique_ptr<redis_link>& link);
    bool undo_over(server_request const& request, std::unique_ptr<redis_link> link,
                   milliseconds limit);
    bool try_undo(server_request const& request, milliseconds limit);
    void note(server_answer const& answer);

    std::shared_ptr<redis_pool> const pool_;
    std::shared_ptr<observer> const observer_;
    redis_address const address_;
    std::atomic<bool> takes_part_{true};
    std::atomic<int> undoing_{0}; // how many undo() at this moment

    worker_pool workers_; // last: its jobs use the rest
};

} // namespace fencelock::detail
