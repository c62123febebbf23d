#include "redis_reply.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <charconv>
#include <new>

namespace fencelock::detail {

namespace {

struct reply_deleter {
    void operator()(void* reply) const noexcept { freeReplyObject(reply); }
};

struct reader_deleter {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
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

// More elements than any reply has: room for them is made before they come.
constexpr std::size_t most_elements = 1 << 20;

// hiredis' own functions but for that limit, which not every version has. (The type of a count
// differs between versions.)
redisReplyObjectFunctions* bounded(redisReplyObjectFunctions const* usual)
{
    static auto const* const original = usual;
    static auto functions = [] {
        auto changed = *original;
        changed.createArray = [](auto const* task, auto count) -> void* {
            if (static_cast<std::size_t>(count) > most_elements)
                return nullptr;
            return original->createArray(task, count);
        };
        return changed;
    }();
    return &functions;
}

void append_head(std::string& to, char type, std::size_t count)
{
    std::array<char, 24> digits;
    auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    to += type;
    to.append(digits.data(), end).append("\r\n");
}

} // namespace

// By hand: hiredis' formatter prints each length by sprintf, a third of what the client does for a
// request.
std::string redis_request(std::span<std::string const> arguments)
{
    constexpr std::size_t around = 16; // what stands around an argument, in nearly every case
    std::size_t size = around;
    for (auto const& argument : arguments)
        size += argument.size() + around;
    std::string request;
    request.reserve(size);
    append_head(request, '*', arguments.size());
    for (auto const& argument : arguments) {
        append_head(request, '$', argument.size());
        request.append(argument).append("\r\n");
    }
    return request;
}

struct redis_reply_reader::parser {
    std::unique_ptr<redisReader, reader_deleter> reader{redisReaderCreate()};
};

redis_reply_reader::redis_reply_reader() : parser_{std::make_unique<parser>()}
{
    if (!parser_->reader)
        throw std::bad_alloc{};
    parser_->reader->fn = bounded(parser_->reader->fn);
}

redis_reply_reader::~redis_reply_reader() = default;

void redis_reply_reader::feed(std::string_view bytes)
{
    redisReaderFeed(parser_->reader.get(), bytes.data(), bytes.size()); // next() tells a failure
}

std::optional<redis_reply> redis_reply_reader::next()
{
    void* raw = nullptr;
    if (redisReaderGetReply(parser_->reader.get(), &raw) != REDIS_OK)
        throw protocol_error{"what the server sends is not the Redis protocol"};
    if (!raw)
        return std::nullopt;
    std::unique_ptr<void, reply_deleter> const owned{raw};
    return copied(*static_cast<redisReply*>(raw));
}

} // namespace fencelock::detail
