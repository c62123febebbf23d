// Leases and tokens from Redis, out of blocks that PostgreSQL reserves.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fencelock/issuer.hpp>

#include "database.hpp"
#include "keys.hpp"
#include "observer.hpp"
#include "redis_pool.hpp"

namespace fencelock::detail {

class redis_issuer final : public issuer {
  public:
    redis_issuer(std::shared_ptr<redis_pool> pool, std::shared_ptr<database> db,
                 std::shared_ptr<observer> watch);

    std::string_view name() const noexcept override { return "redis"; }
    std::optional<grant> try_acquire(lease_request const& request) override;
    std::unique_ptr<waiter> new_waiter(std::string const& resource) override;
    std::optional<steady::time_point> renew(held_lease const& lease, milliseconds ttl,
                                            steady::time_point deadline) override;
    bool release(held_lease const& lease, steady::time_point deadline) override;
    std::string server_for(std::string const& resource) const override;

  private:
    // A block reserved for one ticket. Never offered with another: by then it may have been used.
    struct block {
        std::string ticket;
        std::string before;
        std::string last;
        std::string history; // of the database that reserved it
    };

    struct answer {
        std::vector<std::string> words;
        steady::time_point sent_at;
    };

    // One attempt, and until when it may take effect.
    struct attempt {
        redis_link& link;
        steady::time_point deadline;
    };

    template <typename Run>
    answer ask(Run run, redis_keys const& keys, std::string const& resource,
               steady::time_point deadline, bool& unresolved);
    answer ask_acquire(lease_request const& request, block const& offered, bool& unresolved);
    void throw_damaged(redis_keys const& keys, redis_link& link, std::string const& resource,
                       steady::time_point deadline) const;
    block reserve(lease_request const& request, std::string const& ticket,
                  std::string const& known_end);
    redis_keys keys_for(std::string const& resource) const;
    // `arguments`: owner, token, up to which tokens were refused. Sets `by_lock_alone` where the
    // request is to be made again that way.
    static redis_reply run_release(attempt const& now, redis_keys const& keys,
                                   std::array<std::string, 3> const& arguments,
                                   bool& by_lock_alone);
    void abandon(lease_request const& request) noexcept;
    static std::string not_after(attempt const& now);

    std::shared_ptr<redis_pool> const pool_;
    std::shared_ptr<database> const database_;
    std::shared_ptr<observer> const observer_;
};

} // namespace fencelock::detail
