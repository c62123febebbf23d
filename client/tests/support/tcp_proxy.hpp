// A network that misbehaves when it is told to.
#pragma once

#include "request_counter.hpp"
#include "socket.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fencelock::test_support {

// Stands between a client and a server and does to their traffic what networks do. Listens on a
// free port of 127.0.0.1. Every call returns when it has taken effect, so a test needs no sleep
// after it.
class tcp_proxy {
  public:
    tcp_proxy(std::string target_host, int target_port);
    explicit tcp_proxy(std::filesystem::path target_socket);
    ~tcp_proxy();
    tcp_proxy(tcp_proxy const&) = delete;
    tcp_proxy& operator=(tcp_proxy const&) = delete;

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    void refuse();        // new connections are refused; existing ones stay
    void accept_again();  // after refuse
    void cut_all();       // existing connections are reset
    void hold_replies();  // from now on, what the server sends is kept back
    void hold_requests(); // from now on, what clients send is kept back, and delivered by release()
                          // even where the client has gone by then
    void release();       // ends both holds: delivers what was kept back

    // The reply to the next request that contains `request_contains` (any request, where empty) is
    // thrown away after the server has executed it, and the connection is reset.
    void drop_next_reply(std::string request_contains = {});

    [[nodiscard]] std::uint64_t connections() const { return connections_; }
    [[nodiscard]] std::uint64_t bytes_to_server() const { return bytes_to_server_; }
    [[nodiscard]] std::uint64_t bytes_to_client() const { return bytes_to_client_; }
    [[nodiscard]] std::uint64_t bytes_held() const { return bytes_held_; }
    [[nodiscard]] std::uint64_t commands() const { return commands_; } // sent by clients: received
    [[nodiscard]] std::uint64_t replies_dropped() const { return replies_dropped_; }

  private:
    struct connection {
        descriptor client;
        descriptor server;
        std::string held_requests;
        std::string held_replies;
        std::string recent_request; // the end of what was forwarded, for a match across pieces
        request_counter counter;
        bool client_ended = false;
        bool drop_reply = false;
    };

    void start();
    void run();
    void in_loop(std::function<void()> action); // runs it in the loop's thread, and waits
    void run_actions();
    void accept_client();
    void serve(connection& one, bool client_readable, bool server_readable);
    bool read_request(connection& one); // false where the connection is to be closed
    bool read_reply(connection& one);
    bool forward_request(connection& one, std::string const& bytes);
    void deliver_held();
    descriptor connect_target() const;

    std::string target_host_;
    int target_port_ = 0;
    std::filesystem::path target_socket_;
    int port_ = 0;

    // Only the loop's thread touches these.
    descriptor listener_;
    std::list<connection> connections_now_;
    bool holding_replies_ = false;
    bool holding_requests_ = false;
    bool drop_armed_ = false;
    std::string drop_contains_;

    std::atomic<std::uint64_t> connections_{0};
    std::atomic<std::uint64_t> bytes_to_server_{0};
    std::atomic<std::uint64_t> bytes_to_client_{0};
    std::atomic<std::uint64_t> bytes_held_{0};
    std::atomic<std::uint64_t> commands_{0};
    std::atomic<std::uint64_t> replies_dropped_{0};

    std::mutex mutex_;
    std::vector<std::function<void()>> actions_;
    std::atomic<bool> ending_{false};
    descriptor wake_read_;
    descriptor wake_write_;
    std::thread loop_;
};

} // namespace fencelock::test_support
