#include "redis_link.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

namespace fencelock::detail {

namespace {

constexpr std::chrono::seconds clock_sample_lasts{30};

std::string system_message(int code)
{
    return std::system_category().message(code);
}

struct command_deleter {
    void operator()(char* formatted) const noexcept { redisFreeCommand(formatted); }
};

redis_reply copied(redisReply const& from)
{
    redis_reply reply;
    switch (from.type) {
    case REDIS_REPLY_INTEGER:
        reply.type = redis_reply::kind::integer;
        reply.integer = from.integer;
        break;
    case REDIS_REPLY_ERROR:
        reply.type = redis_reply::kind::error;
        reply.text.assign(from.str, static_cast<std::size_t>(from.len));
        break;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
        reply.type = redis_reply::kind::text;
        reply.text.assign(from.str, static_cast<std::size_t>(from.len));
        break;
    case REDIS_REPLY_ARRAY:
        reply.type = redis_reply::kind::array;
        for (std::size_t i = 0; i < static_cast<std::size_t>(from.elements); ++i)
            reply.elements.push_back(copied(*from.element[i]));
        break;
    default:
        break;
    }
    return reply;
}

std::string formatted(std::span<std::string const> arguments)
{
    std::vector<char const*> texts;
    std::vector<std::size_t> sizes;
    for (auto const& argument : arguments) {
        texts.push_back(argument.data());
        sizes.push_back(argument.size());
    }
    char* raw = nullptr;
    auto const size = redisFormatCommandArgv(&raw, static_cast<int>(arguments.size()), texts.data(),
                                             sizes.data());
    std::unique_ptr<char, command_deleter> const owned{raw};
    if (size < 0)
        throw std::bad_alloc{};
    return {raw, static_cast<std::size_t>(size)};
}

void throw_if_error(redis_reply const& reply)
{
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
}

} // namespace

struct redis_link::reader {
    struct deleter {
        void operator()(redisReader* r) const noexcept { redisReaderFree(r); }
    };
    std::unique_ptr<redisReader, deleter> parser{redisReaderCreate()};
};

redis_link::redis_link(redis_address const& address, steady::time_point deadline)
    : address_{address}, reader_{std::make_unique<reader>()}
{
    if (!reader_->parser)
        throw std::bad_alloc{};
    try {
        if (address_.socket_path.empty())
            connect_tcp(deadline);
        else
            connect_unix(deadline);
        greet(deadline);
    } catch (link_failure const& failure) {
        throw link_failure{failure.what(), false}; // nothing that matters has been sent yet
    }
}

redis_link::~redis_link() = default;

redis_reply redis_link::command(std::span<std::string const> arguments, steady::time_point deadline)
{
    send(formatted(arguments), deadline);
    return receive(deadline);
}

void redis_link::interrupt() noexcept
{
    ::shutdown(socket_.get(), SHUT_RDWR);
}

bool redis_link::fresh() const noexcept
{
    pollfd watched{socket_.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 0;
}

std::int64_t redis_link::server_time(steady::time_point when, steady::time_point deadline)
{
    if (!server_ms_ || steady::now() - server_ms_read_at_ > clock_sample_lasts) {
        try {
            ask_time(deadline);
        } catch (link_failure const& failure) {
            throw link_failure{failure.what(), false}; // what the caller is about to send, was not
        }
    }
    // The server looked at its clock before the reply was read, so the true value is no less.
    return *server_ms_ +
           std::chrono::duration_cast<milliseconds>(when - server_ms_read_at_).count();
}

void redis_link::note_server_time(std::int64_t ms)
{
    server_ms_ = ms;
    server_ms_read_at_ = steady::now();
}

void redis_link::greet(steady::time_point deadline)
{
    if (!address_.password.empty()) {
        std::vector<std::string> auth{"AUTH"};
        if (!address_.user.empty())
            auth.push_back(address_.user);
        auth.push_back(address_.password);
        throw_if_error(command(auth, deadline));
    }
    if (address_.database != 0)
        throw_if_error(command(
            std::array<std::string, 2>{"SELECT", std::to_string(address_.database)}, deadline));
}

void redis_link::ask_time(steady::time_point deadline)
{
    auto const reply = command(std::array<std::string, 1>{"TIME"}, deadline);
    throw_if_error(reply);
    if (reply.type != redis_reply::kind::array || reply.elements.size() != 2)
        throw link_failure{"TIME has an unexpected reply", true};
    note_server_time(std::stoll(reply.elements[0].text) * 1000 +
                     std::stoll(reply.elements[1].text) / 1000);
}

void redis_link::connect_tcp(steady::time_point deadline)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const code = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found);
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

void redis_link::connect_unix(steady::time_point deadline)
{
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (address_.socket_path.size() >= sizeof place.sun_path)
        throw link_failure{"the socket's path is too long", false};
    std::memcpy(place.sun_path, address_.socket_path.c_str(), address_.socket_path.size() + 1);
    unique_fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    finish_connect(std::move(socket), &place, sizeof place, deadline);
}

void redis_link::finish_connect(unique_fd socket, void const* address, unsigned size,
                                steady::time_point deadline)
{
    if (!socket)
        throw link_failure{system_message(errno), false};
    socket_ = std::move(socket);
    if (::connect(socket_.get(), static_cast<sockaddr const*>(address), size) == 0)
        return;
    if (errno != EINPROGRESS)
        throw link_failure{system_message(errno), false};
    await(POLLOUT, deadline, false);
    int code = 0;
    socklen_t length = sizeof code;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &length);
    if (code != 0)
        throw link_failure{system_message(code), false};
}

void redis_link::send(std::string_view bytes, steady::time_point deadline)
{
    bool sent = false;
    while (!bytes.empty()) {
        auto const n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            sent = true;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            await(POLLOUT, deadline, sent);
        } else if (errno != EINTR) {
            throw link_failure{system_message(errno), sent};
        }
    }
}

redis_reply redis_link::receive(steady::time_point deadline)
{
    std::array<char, 4096> bytes;
    for (;;) {
        void* raw = nullptr;
        if (redisReaderGetReply(reader_->parser.get(), &raw) != REDIS_OK)
            throw link_failure{"what the server sends is not the Redis protocol", true};
        if (raw) {
            std::unique_ptr<void, decltype(&freeReplyObject)> const owned{raw, &freeReplyObject};
            return copied(*static_cast<redisReply*>(raw));
        }
        await(POLLIN, deadline, true);
        auto const n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
        if (n == 0)
            throw link_failure{"the server closed the connection", true};
        if (n < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            throw link_failure{system_message(errno), true};
        if (n > 0)
            redisReaderFeed(reader_->parser.get(), bytes.data(), static_cast<std::size_t>(n));
    }
}

void redis_link::await(short events, steady::time_point deadline, bool sent)
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
