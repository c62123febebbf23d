// What the server says about tokens: the only place that knows its SQLSTATEs and reads its
// messages.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace fencelock::detail {

enum class refusal_kind { stale, required, conflict, not_issued };

/// LF001 to LF004.
struct refusal {
    refusal_kind kind{};
    std::string message;    ///< the server's primary message
    std::string resource;   ///< empty where the server hides it
    std::int64_t token = 0; ///< 0 for `required`
    std::int64_t mark = 0;  ///< of `stale`: what the token is below; 0 where the server hides it

    /// The lease behind the token is over (everything but `required`).
    bool ends_lease() const noexcept { return kind != refusal_kind::required; }
};

/// Reads an error's code and text as libpqxx gives them; nothing where it is none of fencelock's.
std::optional<refusal> parse_refusal(std::string_view sqlstate, std::string_view text);

/// The same for an exception of libpqxx.
std::optional<refusal> refusal_of(std::exception const& e);

/// Throws stale_token, token_required, token_conflict or token_not_issued.
[[noreturn]] void throw_refusal(refusal const& what);

/// What an error means for a request that may be repeated as it is.
enum class database_fault {
    again,         ///< conflict with a concurrent transaction: repeat at once
    unavailable,   ///< not now, or not here (a standby, shutting down, out of resources, timed out)
    bad_argument,  ///< 22023
    configuration, ///< a missing right, function or schema, and whatever else is no passing trouble
};

database_fault fault_of(std::string_view sqlstate);

/// True where a server that refuses a connection with this code will do so until somebody changes
/// something; false for all that may pass, and for what nobody expects.
bool refuses_for_good(std::string_view sqlstate);

/// What to do about it, to follow the server's message; empty where that says it.
std::string_view remedy_for(std::string_view sqlstate);

} // namespace fencelock::detail
