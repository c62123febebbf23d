// Sockets on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace fencelock::test_support {

// Owns a file descriptor.
class descriptor {
  public:
    descriptor() = default;
    explicit descriptor(int fd) : fd_{fd} {}
    ~descriptor() { reset(); }
    descriptor(descriptor&& other) noexcept : fd_{other.release()} {}
    descriptor& operator=(descriptor&& other) noexcept;

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }
    void reset();
    int release();

  private:
    int fd_ = -1;
};

// A port on 127.0.0.1 that nobody listens on now. Drawn at random below the range that the kernel
// gives to outgoing connections, so that it is still free when a server comes back to it. Another
// process may take it first all the same: whoever starts a server on it tries again with another.
int free_port();

// Listens on 127.0.0.1; throws std::system_error where the port is taken.
descriptor listen_on(int port);

// Connects in blocking mode; an invalid descriptor where nobody accepts.
descriptor connect_to(std::string const& host, int port);
descriptor connect_to(std::filesystem::path const& unix_socket);

// Closes with a reset instead of an orderly end.
void close_hard(descriptor& socket);

} // namespace fencelock::test_support
