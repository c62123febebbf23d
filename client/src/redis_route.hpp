// The way of one request: to the server of its key, then wherever failures and servers send it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "redis_pool.hpp"

namespace fencelock::detail {

class redis_route {
  public:
    redis_route(redis_pool& pool, std::string key) : pool_{pool}, key_{std::move(key)} {}

    /// A connection to the server that is to be tried next. Throws as redis_pool::take does.
    std::unique_ptr<redis_link> take(steady::time_point deadline);

    /// After a failure. True where another server is to be tried, or where what the server said
    /// passes by itself in a moment.
    bool goes_on(link_failure const& failure, steady::time_point deadline);
    bool goes_on(redis_error const& error, steady::time_point deadline);

    /// What went wrong last, and where.
    std::string const& trouble() const noexcept { return trouble_; }

    /// How long to wait before the next attempt.
    milliseconds pause() const;

  private:
    bool found_elsewhere(steady::time_point deadline);
    void note(std::string const& what);

    redis_pool& pool_;
    std::string const key_;
    std::optional<redis_address> tried_; // nothing: it is not known where to go
    std::optional<redis_address> next_;  // where the server that was tried sends us
    bool next_once_ = false;             // for this request only
    int redirections_ = 0;
    std::string trouble_ = "no answer in time";
};

} // namespace fencelock::detail
