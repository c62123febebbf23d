// One attempt to get a lock from a quorum of servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fencelock/issuer.hpp>

#include "keys.hpp"
#include "redlock_servers.hpp"

namespace fencelock::detail {

/// First lock(), then grant() with a token that was issued after that: in this order the tokens of
/// a resource rise as its grants do. What was taken and not granted lives no longer than the
/// request's deadline in any case.
class redlock_attempt {
  public:
    enum class votes {
        quorum,
        held,  ///< others have been granted the lock, somewhere at least
        split, ///< others ask for it as well, and nobody is known to have been granted it
        lost,  ///< no answer, but for connections that broke: another attempt may do better
        away,  ///< too few servers answer
    };

    redlock_attempt(redlock_servers& servers, lease_request const& request);
    ~redlock_attempt(); ///< gives up
    redlock_attempt(redlock_attempt const&) = delete;
    redlock_attempt& operator=(redlock_attempt const&) = delete;

    /// Unique to this attempt.
    std::string const& id() const noexcept { return id_; }

    votes lock();

    /// Of the lease that a quorum says the owner has already.
    std::optional<std::int64_t> token_held() const;

    /// The moment from which the lease counts; nothing where there is no quorum any more.
    std::optional<steady::time_point> grant(std::int64_t token);

    /// Gives back, in the background, what was taken and not granted: others may wait for it.
    void give_up() noexcept;

    /// The last answers, which tell why it failed.
    server_answers const& answers() const noexcept { return answers_; }

    /// After a failed grant: a quorum may have executed it all the same.
    bool may_be_granted() const noexcept { return may_be_granted_; }

  private:
    // What a server keeps for the owner.
    struct seat {
        std::size_t server;
        std::string value;
        std::string lineage;
        std::string token; // 0: of this attempt, not granted yet
    };

    votes judge();
    server_request undoing() const;
    void undo(std::vector<seat> const& seats) const noexcept;

    redlock_servers& servers_;
    lease_request const& request_;
    redis_keys const keys_;
    std::string const id_;
    steady::time_point pending_until_; // as long as what is not granted can be relied on
    server_answers answers_;
    std::vector<seat> seats_; // to be undone
    bool may_be_granted_ = false;
    bool is_same_lease_ = false; // the owner's already: whatever becomes of this attempt, it stays
};

} // namespace fencelock::detail
