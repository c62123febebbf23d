// What a server sends: the same replies in whatever pieces it arrives, and what is made of them.
// And back: what is sent is read as it was meant.
#include <vector>

#include "redis_fault.hpp"
#include "redis_reply.hpp"
#include "require.hpp"

namespace {

using namespace fencelock::detail;

struct heard {
    std::vector<redis_reply> replies;
    bool broken = false;
};

bool same(redis_reply const& one, redis_reply const& other)
{
    bool equal = one.type == other.type && one.text == other.text && one.integer == other.integer &&
                 one.elements.size() == other.elements.size();
    for (std::size_t i = 0; equal && i < one.elements.size(); ++i)
        equal = same(one.elements[i], other.elements[i]);
    return equal;
}

heard hear(std::string_view bytes, std::size_t piece)
{
    heard all;
    redis_reply_reader reader;
    try {
        while (!bytes.empty()) {
            reader.feed(bytes.substr(0, piece));
            bytes.remove_prefix(std::min(piece, bytes.size()));
            while (auto reply = reader.next())
                all.replies.push_back(std::move(*reply));
        }
    } catch (protocol_error const&) {
        all.broken = true;
    }
    return all;
}

void interpret(redis_reply const& reply)
{
    if (reply.type == redis_reply::kind::error) {
        (void)is_configuration(reply.text);
        (void)is_of_server(reply.text);
        (void)passes_at_once(reply.text);
        (void)is_missing_right(reply.text);
        if (auto const to = redirection_of(reply.text))
            REQUIRE(!to->port.empty());
    }
    for (auto const& element : reply.elements)
        interpret(element);
}

// As a server would read it.
void send_and_read(std::string_view text)
{
    std::vector<std::string> words(1);
    for (char const c : text)
        if (c == ' ')
            words.emplace_back();
        else
            words.back() += c;
    auto const read = hear(redis_request(words), 7);
    REQUIRE(!read.broken && read.replies.size() == 1);
    REQUIRE(read.replies[0].elements.size() == words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
        REQUIRE(read.replies[0].elements[i].text == words[i]);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    std::string_view const bytes{reinterpret_cast<char const*>(data), size};
    auto const whole = hear(bytes, std::max<std::size_t>(size, 1));
    auto const pieces = hear(bytes, 3);
    // A broken stream may be found out earlier or later.
    REQUIRE(whole.broken == pieces.broken);
    REQUIRE(whole.replies.size() == pieces.replies.size());
    for (std::size_t i = 0; i < whole.replies.size(); ++i) {
        REQUIRE(same(whole.replies[i], pieces.replies[i]));
        interpret(whole.replies[i]);
    }
    send_and_read(bytes);
    return 0;
}
