// What one Redis, or one server of a Redlock, keeps of a resource.
#pragma once

#include <optional>
#include <string>

#include "json.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

struct redis_state {
    std::optional<std::string> owner; ///< nothing: not held
    std::string token;                ///< decimal; empty where a plain client keeps none here
    std::int64_t ttl_ms = -1;         ///< -1: for ever
    std::string last;                 ///< the last token counted; empty: no counter
    std::string block_end;            ///< empty: plain, or no counter
    std::string trouble;              ///< why some of it cannot be read; empty: it could
};

/// What the server of the resource's keys says now. Throws issuer_unavailable, configuration_error.
redis_state look_at(redis_look& redis, std::string const& resource, key_preset preset,
                    bool is_redlock);

/// The holder, for programs and for people; the counter is not told.
void add_holder(json_object& object, redis_state const& state);
std::string holder_text(redis_state const& state);

} // namespace fencelock::cli
