// Tokens as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

/// The whole of `text` as a token, exact to 2^63-1. Throws error where it is none.
inline std::int64_t to_token(std::string_view text)
{
    std::int64_t token = 0;
    auto const* const end = text.data() + text.size();
    auto const [stopped, failed] = std::from_chars(text.data(), end, token);
    if (failed != std::errc{} || stopped != end || token < 0)
        throw error{"not a fencing token: " + std::string{text}};
    return token;
}

} // namespace fencelock::detail
