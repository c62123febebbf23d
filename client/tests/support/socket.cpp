#include "socket.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fencelock::test_support {

namespace {

sockaddr_in loopback(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

descriptor make_socket(int family)
{
    descriptor made{socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!made.open())
        throw std::system_error{errno, std::generic_category(), "socket"};
    return made;
}

} // namespace

descriptor& descriptor::operator=(descriptor&& other) noexcept
{
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void descriptor::reset()
{
    if (fd_ >= 0)
        close(fd_);
    fd_ = -1;
}

int descriptor::release()
{
    return std::exchange(fd_, -1);
}

int free_port()
{
    // The kernel's default range for outgoing connections starts at 32768.
    static thread_local std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> ports{12000, 32000};
    for (int attempt = 0; attempt < 1000; ++attempt) {
        int const port = ports(random);
        try {
            listen_on(port);
            return port;
        } catch (std::system_error const&) {
            continue; // taken
        }
    }
    throw std::runtime_error{"no free port found on 127.0.0.1"};
}

descriptor listen_on(int port)
{
    descriptor listener = make_socket(AF_INET);
    int const on = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in const address = loopback(port);
    if (bind(listener.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
        listen(listener.get(), 128) != 0)
        throw std::system_error{errno, std::generic_category(),
                                "listen on 127.0.0.1:" + std::to_string(port)};
    return listener;
}

descriptor connect_to(std::string const& host, int port)
{
    descriptor made = make_socket(AF_INET);
    sockaddr_in address = loopback(port);
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
        throw std::invalid_argument{"not an IPv4 address: " + host};
    if (connect(made.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
        return {};
    int const on = 1;
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return made;
}

descriptor connect_to(std::filesystem::path const& unix_socket)
{
    descriptor made = make_socket(AF_UNIX);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (unix_socket.native().size() >= sizeof address.sun_path)
        throw std::invalid_argument{"path too long for a unix socket: " + unix_socket.string()};
    unix_socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(made.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
        return {};
    return made;
}

void close_hard(descriptor& socket)
{
    if (!socket.open())
        return;
    linger const reset_on_close{1, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset_on_close, sizeof reset_on_close);
    socket.reset();
}

} // namespace fencelock::test_support
