// A connected socket that never blocks past a deadline and raises no signal.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "clock.hpp"
#include "redis_url.hpp"
#include "unique_fd.hpp"

namespace fencelock::detail {

/// The connection could not be made, or failed; it is of no more use.
class link_failure : public std::runtime_error {
  public:
    link_failure(std::string const& what, bool sent) : std::runtime_error{what}, sent_{sent} {}

    /// The server may have received the request, so it may have been executed, or still be.
    bool sent() const noexcept { return sent_; }

  private:
    bool sent_;
};

/// Not thread-safe.
class stream_socket {
  public:
    /// Connects to the address, by TCP or by unix socket. Throws link_failure (never sent).
    stream_socket(redis_address const& address, steady::time_point deadline);

    /// All of it, or link_failure.
    void send(std::string_view bytes, steady::time_point deadline);

    /// At least one byte; returns how many. Throws link_failure, also where the other side has
    /// ended.
    std::size_t receive(std::span<char> into, steady::time_point deadline);

    /// Ends a send() or receive() that another thread waits in: it throws link_failure, and the
    /// connection is of no more use.
    void interrupt() noexcept;

    /// True where there is nothing to receive, not even an end.
    bool quiet() const noexcept;

  private:
    void connect_tcp(redis_address const& address, steady::time_point deadline);
    void connect_unix(redis_address const& address, steady::time_point deadline);
    void finish_connect(unique_fd socket, void const* address, unsigned size,
                        steady::time_point deadline);
    void await(short events, steady::time_point deadline, bool sent);

    unique_fd socket_;
};

} // namespace fencelock::detail
