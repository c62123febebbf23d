#include "limits.hpp"

#include <string>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

std::string ms(std::chrono::milliseconds t)
{
    return std::to_string(t.count()) + " ms";
}

// Length of the well-formed sequence that `bytes` starts with, 0 where there is none
// (Unicode 15, table 3-7).
std::size_t utf8_sequence(std::string_view bytes) noexcept
{
    auto at = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    auto const lead = at(0);
    if (lead < 0x80)
        return 1;
    std::size_t const length = lead < 0xC2   ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || bytes.size() < length)
        return 0;
    unsigned char const low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char const high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < low || at(1) > high)
        return 0;
    for (std::size_t i = 2; i < length; ++i)
        if (at(i) < 0x80 || at(i) > 0xBF)
            return 0;
    return length;
}

void check_text(std::string_view text, std::string const& what, std::size_t longest,
                std::string_view resource)
{
    std::string trouble;
    if (text.empty())
        trouble = " is empty";
    else if (text.size() > longest)
        trouble =
            " has " + std::to_string(text.size()) + " bytes, more than " + std::to_string(longest);
    else if (text.find('\0') != std::string_view::npos)
        trouble = " contains a NUL byte";
    else if (!is_utf8(text))
        trouble = " is not valid UTF-8";
    if (!trouble.empty())
        throw invalid_argument{what + trouble, std::string{resource}};
}

} // namespace

void check_resource(std::string_view resource)
{
    check_text(resource, "the resource name", longest_resource, {});
}

void check_owner(std::string_view owner, std::string_view resource)
{
    check_text(owner, "the owner", longest_owner, resource);
}

void check_lease(held_lease const& lease)
{
    check_resource(lease.resource);
    check_owner(lease.owner, lease.resource);
    if (lease.token < 1)
        throw invalid_argument{"a fencing token is above 0", lease.resource, lease.token};
}

void check_ttl(std::chrono::milliseconds ttl, std::string_view resource)
{
    if (ttl < shortest_ttl || ttl > longest_ttl)
        throw invalid_argument{"a TTL of " + ms(ttl) + " is outside 1 ms to " + longest_ttl_text,
                               std::string{resource}};
}

void check_wait(std::chrono::milliseconds wait, std::string_view resource)
{
    if (wait < wait.zero() || wait > longest_ttl)
        throw invalid_argument{"a wait of " + ms(wait) + " is outside 0 to " + longest_ttl_text,
                               std::string{resource}};
}

void check_timeout(std::chrono::milliseconds timeout, std::string_view name)
{
    if (timeout < shortest_ttl || timeout > longest_ttl)
        throw invalid_argument{std::string{name} + " of " + ms(timeout) + " is outside 1 ms to " +
                               longest_ttl_text};
}

void check_block_size(std::int64_t size)
{
    if (size < 1 || size > largest_block)
        throw invalid_argument{"a block size of " + std::to_string(size) + " is outside 1 to " +
                               std::to_string(largest_block)};
}

bool is_utf8(std::string_view bytes) noexcept
{
    while (!bytes.empty()) {
        auto const length = utf8_sequence(bytes);
        if (length == 0)
            return false;
        bytes.remove_prefix(length);
    }
    return true;
}

} // namespace fencelock::detail
