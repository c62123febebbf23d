// What may be asked for. Checked before anything is sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <fencelock/issuer.hpp>

namespace fencelock::detail {

inline constexpr std::size_t longest_resource = 1024;
inline constexpr std::size_t longest_owner = 256;
inline constexpr std::chrono::milliseconds shortest_ttl{1};

/// A year, which has 365.25 days where PostgreSQL measures an interval.
inline constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours{8766};
inline constexpr char const* longest_ttl_text = "1 year (365.25 days)";

inline constexpr std::int64_t largest_block = std::int64_t{1} << 24;

/// 1 to 1024 bytes of valid UTF-8 without NUL. Throws invalid_argument.
void check_resource(std::string_view resource);

/// 1 to 256 bytes of valid UTF-8 without NUL. Throws invalid_argument.
void check_owner(std::string_view owner, std::string_view resource);

/// A resource, an owner, and a token above 0. Throws invalid_argument.
void check_lease(held_lease const& lease);

/// 1 ms to 1 year. Throws invalid_argument.
void check_ttl(std::chrono::milliseconds ttl, std::string_view resource);

/// 0 to 1 year. Throws invalid_argument.
void check_wait(std::chrono::milliseconds wait, std::string_view resource);

/// 1 ms to 1 year, for the option `name`. Throws invalid_argument.
void check_timeout(std::chrono::milliseconds timeout, std::string_view name);

/// 1 to 2^24 tokens. Throws invalid_argument.
void check_block_size(std::int64_t size);

/// Well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, at most U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;

} // namespace fencelock::detail
