// What an error reply of Redis means.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fencelock::detail {

/// The first word of the error: OOM, READONLY, ... Redis 6 wraps those of commands in scripts into
/// an ERR of its own, out of which they are taken here.
std::string_view code_of(std::string_view reply);

/// True where trying again is pointless until somebody changes something; false where the server
/// cannot serve now (loading, a replica, out of memory, too few replicas ...).
bool is_configuration(std::string_view reply);

/// True where the server cannot serve now, but another one may, in whose favour it was demoted or
/// which replaces it: a replica, loading, cut off from its primary or from its cluster.
bool is_of_server(std::string_view reply);

/// True where the same request may succeed in a moment, at the same server.
bool passes_at_once(std::string_view reply);

/// Where a node of a cluster sends a request.
struct redirection {
    bool once = false; ///< ASK: this request only; else MOVED
    int slot = 0;
    std::string host; ///< empty: the node's own
    std::string port;
};

/// Nothing where the reply is no redirection.
std::optional<redirection> redirection_of(std::string_view reply);

/// What Redis says in it, without the place in a script where it happened, and what to do about it.
std::string told_by_reply(std::string_view reply);

/// Throws what an error reply of the server at `place` means: configuration_error or
/// issuer_unavailable.
[[noreturn]] void throw_reply(std::string const& reply, std::string const& place,
                              std::string const& resource);

/// True where the user lacks a right that the scripts need.
bool is_missing_right(std::string_view reply);

} // namespace fencelock::detail
