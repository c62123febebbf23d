// Names in Redis: the only place that knows how a resource becomes keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fencelock/redis_locks.hpp>

namespace fencelock::detail {

/// The keys of one resource. Tagged ones share one hash tag, hence one slot of a cluster.
struct redis_keys {
    std::string lock;  ///< string `token:owner`, with the lease's TTL (or a plain client's id)
    std::string state; ///< hash: what Redis keeps of a resource beside its lock; plain: its counter
    std::string wake;  ///< list of at most one element: a release has happened
};

/// No two resources share a key, nor is one's key another's of another kind.
redis_keys keys_of(std::string_view resource, key_preset preset = key_preset::tagged);

/// The resource that a lock's key belongs to; nothing where the key keeps no more of the name than
/// its digest, or is no lock's key.
std::optional<std::string> resource_of_lock(std::string_view key, key_preset preset);

/// What KEYS and SCAN take to find the locks of all resources.
std::string lock_pattern(key_preset preset);

/// The resource as it stands between the braces: bytes outside `[A-Za-z0-9._:/@+=,~-]` as `%XX`, so
/// that no name can close the braces early; `%#` and the SHA-256 in hex where that is longer than
/// 180 bytes. `%` is otherwise followed by two hex digits, so neither form is another name's.
std::string encode_resource(std::string_view resource);

} // namespace fencelock::detail
