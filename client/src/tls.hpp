// TLS over a socket of ours. The only place that knows libssl.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <fencelock/redis_locks.hpp>

#include "clock.hpp"
#include "stream_socket.hpp"

namespace fencelock::detail {

/// Whom to trust and who we are. Thread-safe once made; its files are read when it is made.
class tls_context {
  public:
    /// Throws configuration_error where a file cannot be used, invalid_argument where options
    /// contradict each other.
    explicit tls_context(tls_options const& options);
    ~tls_context();
    tls_context(tls_context const&) = delete;
    tls_context& operator=(tls_context const&) = delete;

  private:
    friend class tls_session;
    struct handle;
    tls_options const options_;
    std::unique_ptr<handle> handle_;
};

/// One connection's TLS. libssl works on memory here: bytes are moved by the socket, with its
/// deadlines. Not thread-safe.
class tls_session {
  public:
    /// Shakes hands with the server that is called `host`, on a socket that outlives this. Throws
    /// link_failure, or configuration_error where the server or we are not accepted.
    tls_session(std::shared_ptr<tls_context const> context, stream_socket& socket,
                std::string const& host, steady::time_point deadline);
    ~tls_session();
    tls_session(tls_session const&) = delete;
    tls_session& operator=(tls_session const&) = delete;

    /// As stream_socket's. A refusal that arrives only after the handshake is a
    /// configuration_error, too.
    void send(std::string_view bytes, steady::time_point deadline);
    std::size_t receive(std::span<char> into, steady::time_point deadline);

    /// True where nothing that was received waits to be read.
    bool quiet() const noexcept;

  private:
    struct handle;

    void expect_server(std::string const& host);
    void shake_hands(steady::time_point deadline);
    void send_pending(steady::time_point deadline);
    void receive_more(steady::time_point deadline);
    void tell_refusal();
    link_failure unanswered(link_failure const& failure) const;
    [[noreturn]] void fail();

    std::shared_ptr<tls_context const> const context_;
    stream_socket& socket_;
    std::unique_ptr<handle> handle_;
    bool answered_ = false; ///< the server has sent data, so it has accepted us
};

} // namespace fencelock::detail
