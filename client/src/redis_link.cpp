#include "redis_link.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace fencelock::detail {

namespace {

constexpr std::chrono::seconds clock_sample_lasts{30};

// Seconds, or microseconds.
std::int64_t part_of_time(redis_reply const& element)
{
    constexpr std::int64_t end_of_time = 1'000'000'000'000;
    std::int64_t value = -1;
    auto const& text = element.text;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value < 0 || value > end_of_time)
        throw link_failure{"TIME has an unexpected reply", true};
    return value;
}

void throw_if_error(redis_reply const& reply)
{
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
}

} // namespace

redis_link::redis_link(redis_address address, steady::time_point deadline,
                       std::shared_ptr<tls_context const> tls)
try : address_{std::move(address)}, socket_{address_, deadline} {
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
        send(redis_request(arguments), 1, deadline);
        return receive_last(1, deadline);
    }
    send(redis_request(std::array<std::string, 1>{"ASKING"}) + redis_request(arguments), 2,
         deadline);
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
    if (!clock_.is_known(clock_sample_lasts)) {
        try {
            ask_time(deadline);
        } catch (link_failure const& failure) {
            throw link_failure{failure.what(), false}; // what the caller is about to send, was not
        }
    }
    return clock_.at(when);
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
    note_server_time(part_of_time(reply.elements[0]) * 1000 +
                     part_of_time(reply.elements[1]) / 1000);
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
try {
    std::array<char, 4096> bytes;
    for (;;) {
        if (auto reply = reader_.next()) {
            --owed_;
            return std::move(*reply);
        }
        auto const n = tls_ ? tls_->receive(bytes, deadline) : socket_.receive(bytes, deadline);
        reader_.feed({bytes.data(), n});
    }
} catch (protocol_error const& e) {
    throw link_failure{e.what(), true};
} catch (link_failure const& failure) {
    throw link_failure{failure.what(), true}; // the command has been sent
}

} // namespace fencelock::detail
