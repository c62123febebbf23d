#include "tcp_proxy.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <future>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fencelock::test_support {

namespace {

bool send_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// What can be read now; nullopt where the other side has ended.
std::optional<std::string> receive(int fd)
{
    std::array<char, 65536> buffer; // NOLINT(*-member-init): filled by recv
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return std::string{};
    if (got <= 0)
        return std::nullopt;
    return std::string{buffer.data(), static_cast<std::size_t>(got)};
}

} // namespace

tcp_proxy::tcp_proxy(std::string target_host, int target_port)
    : target_host_{std::move(target_host)}, target_port_{target_port}
{
    start();
}

tcp_proxy::tcp_proxy(std::filesystem::path target_socket) : target_socket_{std::move(target_socket)}
{
    start();
}

void tcp_proxy::start()
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        throw std::system_error{errno, std::generic_category(), "pipe2"};
    wake_read_ = descriptor{ends[0]};
    wake_write_ = descriptor{ends[1]};
    for (int attempt = 1; !listener_.open(); ++attempt) {
        try {
            port_ = free_port();
            listener_ = listen_on(port_);
        } catch (std::system_error const&) {
            if (attempt == 20)
                throw; // else taken between the look and the listen
        }
    }
    loop_ = std::thread{[this] { run(); }};
}

tcp_proxy::~tcp_proxy()
{
    in_loop([this] { ending_ = true; });
    loop_.join();
}

void tcp_proxy::refuse()
{
    in_loop([this] { listener_.reset(); });
}

void tcp_proxy::accept_again()
{
    in_loop([this] {
        if (!listener_.open())
            listener_ = listen_on(port_);
    });
}

void tcp_proxy::cut_all()
{
    in_loop([this] {
        for (auto& one : connections_now_) {
            close_hard(one.client);
            close_hard(one.server);
        }
        connections_now_.clear();
    });
}

void tcp_proxy::hold_replies()
{
    in_loop([this] { holding_replies_ = true; });
}

void tcp_proxy::hold_requests()
{
    in_loop([this] { holding_requests_ = true; });
}

void tcp_proxy::release()
{
    in_loop([this] {
        holding_replies_ = holding_requests_ = false;
        deliver_held();
    });
}

void tcp_proxy::drop_next_reply(std::string request_contains)
{
    in_loop([this, &request_contains] {
        drop_armed_ = true;
        drop_contains_ = std::move(request_contains);
        for (auto& one : connections_now_)
            one.recent_request.clear(); // what was sent before does not count
    });
}

void tcp_proxy::in_loop(std::function<void()> action)
{
    std::promise<void> done;
    {
        std::lock_guard const guard{mutex_};
        actions_.emplace_back([&] {
            try {
                action();
                done.set_value();
            } catch (...) {
                done.set_exception(std::current_exception());
            }
        });
    }
    (void)!write(wake_write_.get(), "", 1); // full: then the loop is about to wake anyhow
    done.get_future().get();
}

void tcp_proxy::run()
{
    while (!ending_) {
        std::vector<pollfd> watched{{wake_read_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        for (auto const& one : connections_now_) {
            watched.push_back({one.client_ended ? -1 : one.client.get(), POLLIN, 0});
            watched.push_back({one.server.get(), POLLIN, 0});
        }
        if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
            return;
        auto ready = watched.begin() + 2;
        for (auto one = connections_now_.begin(); one != connections_now_.end(); ready += 2) {
            serve(*one, ready[0].revents != 0, ready[1].revents != 0);
            one = one->server.open() ? std::next(one) : connections_now_.erase(one);
        }
        if (watched[1].revents != 0)
            accept_client();
        run_actions(); // last: they may change what the loops above walk through
    }
}

void tcp_proxy::run_actions()
{
    std::array<char, 64> drained; // NOLINT(*-member-init): only emptied
    while (read(wake_read_.get(), drained.data(), drained.size()) > 0) {
    }
    std::vector<std::function<void()>> todo;
    {
        std::lock_guard const guard{mutex_};
        todo.swap(actions_);
    }
    for (auto const& action : todo)
        action();
}

void tcp_proxy::accept_client()
{
    connection made;
    made.client = descriptor{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!made.client.open())
        return;
    ++connections_;
    made.server = connect_target();
    if (made.server.open())
        connections_now_.push_back(std::move(made));
    else
        close_hard(made.client); // as from a machine where nobody listens
}

descriptor tcp_proxy::connect_target() const
{
    return target_socket_.empty() ? connect_to(target_host_, target_port_)
                                  : connect_to(target_socket_);
}

// Closes both sides where one has ended, but for requests that are held: those still arrive.
void tcp_proxy::serve(connection& one, bool client_readable, bool server_readable)
{
    bool alive = true;
    if (client_readable)
        alive = read_request(one);
    if (alive && server_readable)
        alive = read_reply(one);
    if (alive)
        return;
    one.client.reset();
    one.server.reset();
}

bool tcp_proxy::read_request(connection& one)
{
    auto const bytes = receive(one.client.get());
    if (!bytes) {
        one.client_ended = true;
        return !one.held_requests.empty();
    }
    commands_ += one.counter.feed(*bytes);
    if (!holding_requests_)
        return forward_request(one, *bytes);
    one.held_requests += *bytes;
    bytes_held_ += bytes->size();
    return true;
}

bool tcp_proxy::forward_request(connection& one, std::string const& bytes)
{
    bytes_to_server_ += bytes.size();
    one.recent_request += bytes;
    if (drop_armed_ && one.recent_request.find(drop_contains_) != std::string::npos) {
        drop_armed_ = false;
        one.drop_reply = true;
    }
    auto const keep = drop_contains_.empty() ? 0 : drop_contains_.size() - 1;
    if (one.recent_request.size() > keep)
        one.recent_request.erase(0, one.recent_request.size() - keep);
    return send_all(one.server.get(), bytes);
}

bool tcp_proxy::read_reply(connection& one)
{
    auto const bytes = receive(one.server.get());
    if (!bytes)
        return false;
    if (bytes->empty())
        return true;
    if (one.drop_reply) {
        ++replies_dropped_;
        close_hard(one.client);
        return false;
    }
    if (one.client_ended)
        return true; // nobody to give it to
    if (holding_replies_) {
        one.held_replies += *bytes;
        bytes_held_ += bytes->size();
        return true;
    }
    bytes_to_client_ += bytes->size();
    return send_all(one.client.get(), *bytes);
}

void tcp_proxy::deliver_held()
{
    for (auto& one : connections_now_) {
        std::string const requests = std::exchange(one.held_requests, {});
        std::string const replies = std::exchange(one.held_replies, {});
        bytes_held_ -= requests.size() + replies.size();
        if (!requests.empty())
            forward_request(one, requests);
        if (!replies.empty() && !one.client_ended) {
            bytes_to_client_ += replies.size();
            send_all(one.client.get(), replies);
        }
        // The server answers to nobody, then sees the end.
        if (one.client_ended)
            shutdown(one.server.get(), SHUT_WR);
    }
}

} // namespace fencelock::test_support
