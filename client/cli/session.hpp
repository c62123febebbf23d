// The client that the options describe.
#pragma once

#include <memory>
#include <optional>

#include <fencelock/fencelock.hpp>

#include "arguments.hpp"

namespace fencelock::cli {

class session {
  public:
    /// Connects to nothing yet. Throws invalid_argument; issuer_unavailable where tagged keys have
    /// no database that could reserve tokens.
    explicit session(arguments const& given);

    fencelock::client& client() { return *client_; }

    /// What every acquire asks for: confirmed wherever there is a database and nobody said no.
    acquire_options options() const;

    /// Says on stderr where the lock is a lease in PostgreSQL although a Redis was named, and why:
    /// a wrong port should not go unseen.
    void tell_fallback(lock const& held) const;

  private:
    struct last_warning;

    arguments const& given_;
    std::shared_ptr<last_warning> warning_;
    std::optional<redis_locks> redis_;
    std::optional<redlock_locks> redlock_; // of several URLs
    std::unique_ptr<fencelock::client> client_;
};

} // namespace fencelock::cli
