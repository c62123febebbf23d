// One connection to Redis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "clock.hpp"
#include "redis_reply.hpp"
#include "redis_url.hpp"
#include "stream_socket.hpp"
#include "tls.hpp"

namespace fencelock::detail {

/// Speaks RESP2 over a socket of its own, so that a deadline covers a whole reply and not each read
/// of it, no signal is raised by a closed connection, and TLS does not depend on hiredis. Not
/// thread-safe.
class redis_link {
  public:
    /// Connects, with TLS where there is a context for it, authenticates, selects the database.
    /// Throws link_failure (never sent), redis_error, or configuration_error where TLS fails for
    /// good.
    redis_link(redis_address address, steady::time_point deadline,
               std::shared_ptr<tls_context const> tls = nullptr);
    ~redis_link();
    redis_link(redis_link const&) = delete;
    redis_link& operator=(redis_link const&) = delete;

    /// One command and its reply. Error replies are returned. Throws link_failure. After an answer
    /// that did not come in time the connection may be used on: the server takes commands in the
    /// order in which they were sent, and what it still answers to earlier ones is dropped.
    redis_reply command(std::span<std::string const> arguments, steady::time_point deadline);

    /// Every command has been answered.
    bool settled() const noexcept { return owed_ == 0 && !broken_; }

    /// Whether ASKING goes before each command: to a node that a slot is on its way to.
    void ask_before_commands(bool on) noexcept { asking_ = on; }

    redis_address const& address() const noexcept { return address_; }

    /// Ends a command() that another thread waits for: it throws link_failure, and the connection
    /// is of no more use.
    void interrupt() noexcept;

    /// False where the server has closed the connection, or sent what nobody asked for.
    bool fresh() const noexcept;

    /// The earliest time, in ms, that the server's clock can show at local time `when`. Asks the
    /// server where its last word is old enough for clocks to have drifted.
    std::int64_t server_time(steady::time_point when, steady::time_point deadline);

    /// The server said its time in a reply that has just been read.
    void note_server_time(std::int64_t ms) { clock_.note(ms); }

  private:
    void greet(steady::time_point deadline);
    void ask_time(steady::time_point deadline);
    void send(std::string_view bytes, int commands, steady::time_point deadline);
    redis_reply receive_last(int replies, steady::time_point deadline);
    redis_reply receive(steady::time_point deadline);

    redis_address const address_;
    stream_socket socket_;
    std::unique_ptr<tls_session> tls_;
    redis_reply_reader reader_;
    bool asking_ = false;
    int owed_ = 0;        // replies to what was sent
    bool broken_ = false; // the end of a command could not be sent: nothing can follow it
    server_clock clock_;
};

} // namespace fencelock::detail
