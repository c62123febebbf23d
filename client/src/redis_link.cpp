#include "redis_link.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <new>
#include <utility>

namespace fencelock::detail {

namespace {

constexpr std::chrono::seconds clock_sample_lasts{30};

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

redis_link::redis_link(redis_address address, steady::time_point deadline,
                       std::shared_ptr<tls_context const> tls)
try : address_{std::move(address)}, socket_{address_, deadline},
    reader_{std::make_unique<reader>()} {
    if (!reader_->parser)
        throw std::bad_alloc{};
    if (tls)
        tls_ = std::make_unique<tls_session>(std::move(tls), socket_, address_.host, deadline);
    greet(deadline);
} catch (link_failure const& failure) {
    throw link_failure{failure.what(), false}; // nothing that matters has been sent yet
}

redis_link::~redis_link() = default;

redis_reply redis_link::command(std::span<std::string const> arguments, steady::time_point deadline)
{
    if (!asking_) {
        send(formatted(arguments), 1, deadline);
        return receive_last(1, deadline);
    }
    send(formatted(std::array<std::string, 1>{"ASKING"}) + formatted(arguments), 2, deadline);
    auto const permission = receive_last(2, deadline);
    auto reply = receive_last(1, deadline);
    return permission.type == redis_reply::kind::error ? permission : reply;
}

void redis_link::interrupt() noexcept
{
    socket_.interrupt();
}

bool redis_link::fresh() const noexcept
{
    return socket_.quiet() && (!tls_ || tls_->quiet());
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

void redis_link::send(std::string_view bytes, int commands, steady::time_point deadline)
{
    if (broken_)
        throw link_failure{"the connection is broken", false};
    owed_ += commands;
    broken_ = true;
    if (tls_)
        tls_->send(bytes, deadline);
    else
        socket_.send(bytes, deadline);
    broken_ = false;
}

// The first of the replies to the last commands, so many as those.
redis_reply redis_link::receive_last(int replies, steady::time_point deadline)
{
    while (owed_ > replies)
        receive(deadline);
    return receive(deadline);
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
            --owed_;
            return copied(*static_cast<redisReply*>(raw));
        }
        auto const n = tls_ ? tls_->receive(bytes, deadline) : socket_.receive(bytes, deadline);
        redisReaderFeed(reader_->parser.get(), bytes.data(), n);
    }
}

} // namespace fencelock::detail
