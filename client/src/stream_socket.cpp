#include "stream_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>

namespace fencelock::detail {

namespace {

std::string system_message(int code)
{
    return std::system_category().message(code);
}

std::string connect_message(int code)
{
    bool const nobody_listens = code == ECONNREFUSED || code == ENOENT;
    return system_message(code) + (nobody_listens ? " (does a server run there?)" : "");
}

bool would_block(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK;
}

} // namespace

stream_socket::stream_socket(redis_address const& address, steady::time_point deadline)
{
    if (address.socket_path.empty())
        connect_tcp(address, deadline);
    else
        connect_unix(address, deadline);
}

void stream_socket::send(std::string_view bytes, steady::time_point deadline)
{
    bool sent = false;
    while (!bytes.empty()) {
        auto const n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            sent = true;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (would_block(errno)) {
            await(POLLOUT, deadline, sent);
        } else if (errno != EINTR) {
            throw link_failure{system_message(errno), sent};
        }
    }
}

std::size_t stream_socket::receive(std::span<char> into, steady::time_point deadline)
{
    for (;;) {
        await(POLLIN, deadline, true);
        auto const n = ::recv(socket_.get(), into.data(), into.size(), 0);
        if (n > 0)
            return static_cast<std::size_t>(n);
        if (n == 0)
            throw link_failure{"the server closed the connection", true};
        if (errno != EINTR && !would_block(errno))
            throw link_failure{system_message(errno), true};
    }
}

void stream_socket::interrupt() noexcept
{
    ::shutdown(socket_.get(), SHUT_RDWR);
}

bool stream_socket::quiet() const noexcept
{
    pollfd watched{socket_.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 0;
}

void stream_socket::connect_tcp(redis_address const& address, steady::time_point deadline)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
    if (code != 0)
        throw link_failure{std::string{"no address: "} + ::gai_strerror(code), false};
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const owned{found, &::freeaddrinfo};
    for (auto const* candidate = found; candidate; candidate = candidate->ai_next) {
        try {
            unique_fd socket{
                ::socket(candidate->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
            finish_connect(std::move(socket), candidate->ai_addr, candidate->ai_addrlen, deadline);
            break;
        } catch (link_failure const&) {
            if (!candidate->ai_next)
                throw;
        }
    }
    int const on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

void stream_socket::connect_unix(redis_address const& address, steady::time_point deadline)
{
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (address.socket_path.size() >= sizeof place.sun_path)
        throw link_failure{"the socket's path is too long", false};
    std::memcpy(place.sun_path, address.socket_path.c_str(), address.socket_path.size() + 1);
    unique_fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    finish_connect(std::move(socket), &place, sizeof place, deadline);
}

void stream_socket::finish_connect(unique_fd socket, void const* address, unsigned size,
                                   steady::time_point deadline)
{
    if (!socket)
        throw link_failure{system_message(errno), false};
    socket_ = std::move(socket);
    if (::connect(socket_.get(), static_cast<sockaddr const*>(address), size) == 0)
        return;
    if (errno != EINPROGRESS)
        throw link_failure{connect_message(errno), false};
    await(POLLOUT, deadline, false);
    int code = 0;
    socklen_t length = sizeof code;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &length);
    if (code != 0)
        throw link_failure{connect_message(code), false};
}

void stream_socket::await(short events, steady::time_point deadline, bool sent)
{
    for (;;) {
        auto const left = deadline - steady::now();
        if (left <= left.zero())
            throw link_failure{"no answer in time", sent};
        auto const ms = std::chrono::ceil<milliseconds>(left).count();
        pollfd watched{socket_.get(), events, 0};
        auto const ready =
            ::poll(&watched, 1,
                   static_cast<int>(std::min<decltype(ms)>(ms, std::numeric_limits<int>::max())));
        if (ready > 0)
            return;
        if (ready < 0 && errno != EINTR)
            throw link_failure{system_message(errno), sent};
    }
}

} // namespace fencelock::detail
