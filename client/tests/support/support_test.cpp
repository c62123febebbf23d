// The fixtures are themselves tested: a fixture that lies makes every test above it worthless.
#include "child_process.hpp"
#include "postgres_server.hpp"
#include "redis_server.hpp"
#include "request_counter.hpp"
#include "socket.hpp"
#include "tcp_proxy.hpp"
#include "wait_until.hpp"

#include <array>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace fencelock::test_support;
using namespace std::chrono_literals;

bool exists(pid_t pid)
{
    return kill(pid, 0) == 0;
}

std::string read_some(int fd)
{
    std::array<char, 4096> buffer{};
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string{};
}

void write_text(int fd, std::string const& text)
{
    ASSERT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string const ping = "*1\r\n$4\r\nPING\r\n";
std::string const pong = "+PONG\r\n";

TEST(child_process_test, ends_with_the_object)
{
    pid_t pid = 0;
    {
        child_process sleeper{{.argv = {find_program("sleep")->string(), "1000"}}};
        pid = sleeper.pid();
        EXPECT_TRUE(sleeper.running());
    }
    EXPECT_FALSE(exists(pid));
}

TEST(child_process_test, ends_where_the_test_dies_without_a_destructor)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    pid_t const test = fork();
    if (test == 0) {
        child_process sleeper{{.argv = {find_program("sleep")->string(), "1000"}}};
        pid_t const pid = sleeper.pid();
        (void)!write(ends[1], &pid, sizeof pid);
        (void)raise(SIGKILL);
    }
    pid_t pid = 0;
    ASSERT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    waitpid(test, nullptr, 0);
    // Gone, or a zombie that nobody collects yet where process 1 does not.
    EXPECT_TRUE(wait_until([pid] {
        std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
        std::string stat;
        std::getline(in, stat);
        return stat.empty() || stat.find(") Z") != std::string::npos;
    }));
    close(ends[0]);
    close(ends[1]);
}

TEST(child_process_test, a_forked_copy_does_not_stop_the_server)
{
    auto sleeper = std::make_unique<child_process>(
        child_options{.argv = {find_program("sleep")->string(), "1000"}});
    pid_t const copy = fork();
    if (copy == 0) {
        sleeper.reset();
        _exit(0);
    }
    waitpid(copy, nullptr, 0);
    EXPECT_TRUE(sleeper->running());
}

TEST(child_process_test, reports_status_and_signal)
{
    child_process failing{{.argv = {find_program("sh")->string(), "-c", "exit 7"}}};
    EXPECT_EQ(failing.wait(generous_limit), 7);
    child_process killed{{.argv = {find_program("sleep")->string(), "1000"}}};
    killed.send(SIGTERM);
    EXPECT_EQ(killed.wait(generous_limit), 128 + SIGTERM);
}

TEST(redis_server_test, forgets_or_keeps_as_told)
{
    redis_server kept{{.persistent = true}};
    int const port = kept.port();
    kept.command({"SET", "key", "value"});
    kept.kill9();
    EXPECT_FALSE(kept.running());
    kept.start();
    EXPECT_EQ(kept.command({"GET", "key"}), "value");
    kept.restart();
    EXPECT_EQ(kept.command({"GET", "key"}), "value");
    kept.restart_empty();
    EXPECT_EQ(kept.command({"GET", "key"}), std::nullopt);
    EXPECT_EQ(kept.port(), port);
}

TEST(redis_server_test, is_frozen_while_paused)
{
    redis_server redis;
    redis.pause();
    descriptor const client = connect_to("127.0.0.1", redis.port());
    ASSERT_TRUE(client.open()); // the kernel accepts for it
    write_text(client.get(), ping);
    std::array<char, 16> buffer{};
    EXPECT_EQ(recv(client.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), -1);
    redis.resume();
    EXPECT_EQ(read_some(client.get()), pong);
}

TEST(redis_server_test, asks_for_its_password)
{
    redis_server redis{{.password = "secret"}};
    EXPECT_EQ(redis.command({"PING"}), "PONG");
    descriptor const client = connect_to(redis.socket_path());
    write_text(client.get(), ping);
    EXPECT_EQ(read_some(client.get()).substr(0, 7), "-NOAUTH");
}

TEST(redis_server_test, says_why_it_does_not_start)
{
    try {
        redis_server broken{{.arguments = {"--maxmemory", "nonsense"}}};
        FAIL() << "it started";
    } catch (std::runtime_error const& e) {
        EXPECT_NE(std::string{e.what()}.find("nonsense"), std::string::npos) << e.what();
    }
}

TEST(redis_server_test, throws_error_replies)
{
    redis_server const redis;
    EXPECT_THROW(redis.command({"NO-SUCH-COMMAND"}), std::runtime_error);
}

TEST(postgres_server_test, keeps_what_was_committed_across_crash_and_restart)
{
    postgres_server postgres;
    int const port = postgres.port();
    postgres.create_database("sho\"p");
    postgres.query("CREATE TABLE kept AS SELECT 42 AS answer", "sho\"p");
    postgres.crash();
    EXPECT_FALSE(postgres.running());
    EXPECT_THROW(postgres.query("SELECT 1"), std::runtime_error);
    postgres.start();
    EXPECT_EQ(postgres.query("SELECT answer FROM kept", "sho\"p"), "42");
    postgres.set("work_mem=5MB");
    postgres.restart();
    EXPECT_EQ(postgres.query("SHOW work_mem"), "5MB");
    EXPECT_EQ(postgres.port(), port);
    EXPECT_EQ(postgres.query("SELECT NULL"), std::nullopt);
}

TEST(postgres_server_test, says_why_it_does_not_start)
{
    try {
        postgres_server broken{{.settings = {"no_such_setting=1"}}};
        FAIL() << "it started";
    } catch (std::runtime_error const& e) {
        EXPECT_NE(std::string{e.what()}.find("no_such_setting"), std::string::npos) << e.what();
    }
}

TEST(request_counter_test, counts_whole_commands_in_any_pieces)
{
    std::string const three = ping + "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n" + ping;
    request_counter whole;
    EXPECT_EQ(whole.feed(three), 3U);
    request_counter pieces;
    std::uint64_t count = 0;
    for (char const c : three)
        count += pieces.feed({&c, 1});
    EXPECT_EQ(count, 3U);
    request_counter other;
    EXPECT_EQ(other.feed("GET / HTTP/1.1\r\n"), 0U);
}

class tcp_proxy_test : public testing::Test {
  protected:
    redis_server redis_;
    tcp_proxy proxy_{"127.0.0.1", redis_.port()};
    descriptor client_ = connect_to("127.0.0.1", proxy_.port());

    void set_in_redis(std::string const& key)
    {
        write_text(client_.get(), "*3\r\n$3\r\nSET\r\n$1\r\n" + key + "\r\n$1\r\n1\r\n");
    }
};

TEST_F(tcp_proxy_test, forwards_and_counts)
{
    write_text(client_.get(), ping);
    EXPECT_EQ(read_some(client_.get()), pong);
    EXPECT_EQ(proxy_.commands(), 1U);
    EXPECT_EQ(proxy_.bytes_to_server(), ping.size());
    EXPECT_EQ(proxy_.bytes_to_client(), pong.size());
    EXPECT_EQ(proxy_.connections(), 1U);
}

TEST_F(tcp_proxy_test, forwards_to_a_unix_socket)
{
    tcp_proxy const to_socket{redis_.socket_path()};
    descriptor const client = connect_to("127.0.0.1", to_socket.port());
    write_text(client.get(), ping);
    EXPECT_EQ(read_some(client.get()), pong);
}

TEST_F(tcp_proxy_test, refuses_and_accepts_again)
{
    proxy_.refuse();
    EXPECT_FALSE(connect_to("127.0.0.1", proxy_.port()).open());
    write_text(client_.get(), ping); // what exists stays
    EXPECT_EQ(read_some(client_.get()), pong);
    proxy_.accept_again();
    EXPECT_TRUE(connect_to("127.0.0.1", proxy_.port()).open());
}

TEST_F(tcp_proxy_test, cuts)
{
    write_text(client_.get(), ping);
    EXPECT_EQ(read_some(client_.get()), pong);
    proxy_.cut_all();
    EXPECT_EQ(read_some(client_.get()), "");
}

TEST_F(tcp_proxy_test, holds_replies_until_released)
{
    proxy_.hold_replies();
    set_in_redis("k");
    EXPECT_TRUE(wait_until([this] { return proxy_.bytes_held() > 0; }));
    EXPECT_EQ(redis_.command({"GET", "k"}), "1");
    EXPECT_EQ(proxy_.bytes_to_client(), 0U);
    proxy_.release();
    EXPECT_EQ(read_some(client_.get()), "+OK\r\n");
    EXPECT_EQ(proxy_.bytes_held(), 0U);
}

TEST_F(tcp_proxy_test, delivers_a_held_request_after_its_sender_has_gone)
{
    proxy_.hold_requests();
    set_in_redis("k");
    EXPECT_TRUE(wait_until([this] { return proxy_.bytes_held() > 0; }));
    client_.reset();
    EXPECT_EQ(redis_.command({"GET", "k"}), std::nullopt);
    proxy_.release();
    EXPECT_TRUE(wait_until([this] { return redis_.command({"GET", "k"}) == "1"; }));
}

TEST_F(tcp_proxy_test, drops_one_reply_after_the_server_did_the_work)
{
    proxy_.drop_next_reply("SET");
    write_text(client_.get(), ping);
    EXPECT_EQ(read_some(client_.get()), pong);
    set_in_redis("k");
    EXPECT_EQ(read_some(client_.get()), "");
    EXPECT_EQ(proxy_.replies_dropped(), 1U);
    EXPECT_EQ(redis_.command({"GET", "k"}), "1");
    descriptor const next = connect_to("127.0.0.1", proxy_.port());
    write_text(next.get(), ping);
    EXPECT_EQ(read_some(next.get()), pong);
}

} // namespace
