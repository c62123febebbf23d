// One connection to Redis. The only place that knows hiredis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "clock.hpp"
#include "redis_url.hpp"
#include "unique_fd.hpp"

namespace fencelock::detail {

struct redis_reply {
    enum class kind { nil, text, integer, error, array };

    kind type = kind::nil;
    std::string text; ///< of text and error
    std::int64_t integer = 0;
    std::vector<redis_reply> elements;
};

/// The connection could not be made, or failed; it is of no more use.
class link_failure : public std::runtime_error {
  public:
    link_failure(std::string const& what, bool sent) : std::runtime_error{what}, sent_{sent} {}

    /// The server may have received the request, so it may have been executed, or still be.
    bool sent() const noexcept { return sent_; }

  private:
    bool sent_;
};

/// The server answered with an error; the connection goes on.
class redis_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Speaks RESP2 over a non-blocking socket of its own, so that a deadline covers a whole reply and
/// not each read of it, and no signal is raised by a closed connection. Not thread-safe.
class redis_link {
  public:
    /// Connects, authenticates, selects the database. Throws link_failure (never
    /// sent) or redis_error.
    redis_link(redis_address const& address, steady::time_point deadline);
    ~redis_link();
    redis_link(redis_link const&) = delete;
    redis_link& operator=(redis_link const&) = delete;

    /// One command and its reply. Error replies are returned. Throws link_failure.
    redis_reply command(std::span<std::string const> arguments, steady::time_point deadline);

    /// Ends a command() that another thread waits for: it throws link_failure, and the connection
    /// is of no more use.
    void interrupt() noexcept;

    /// False where the server has closed the connection, or sent what nobody asked for.
    bool fresh() const noexcept;

    /// The earliest time, in ms, that the server's clock can show at local time `when`. Asks the
    /// server where its last word is old enough for clocks to have drifted.
    std::int64_t server_time(steady::time_point when, steady::time_point deadline);

    /// The server said its time in a reply that has just been read.
    void note_server_time(std::int64_t ms);

  private:
    struct reader;

    void connect_tcp(steady::time_point deadline);
    void connect_unix(steady::time_point deadline);
    void finish_connect(unique_fd socket, void const* address, unsigned size,
                        steady::time_point deadline);
    void greet(steady::time_point deadline);
    void ask_time(steady::time_point deadline);
    void send(std::string_view bytes, steady::time_point deadline);
    redis_reply receive(steady::time_point deadline);
    void await(short events, steady::time_point deadline, bool sent);

    redis_address address_;
    unique_fd socket_;
    std::unique_ptr<reader> reader_;
    std::optional<std::int64_t> server_ms_;
    steady::time_point server_ms_read_at_{};
};

} // namespace fencelock::detail
