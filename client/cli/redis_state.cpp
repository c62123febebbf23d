#include "redis_state.hpp"

#include <utility>

#include <fencelock/errors.hpp>

#include "keys.hpp"
#include "terminal.hpp"

namespace fencelock::cli {

namespace {

using detail::redis_reply;

// Cuts the digits before the first colon off; nothing where there are none.
std::optional<std::string> take_token(std::string& value)
{
    auto const colon = value.find(':');
    if (colon == std::string::npos || colon == 0 || value.find_first_not_of("0123456789") != colon)
        return std::nullopt;
    auto token = value.substr(0, colon);
    value.erase(0, colon + 1);
    return token;
}

// The owner out of a lock's value, and the token where one is there. A Redlock keeps the id of the
// attempt between the two, and token 0 while that has not been granted.
void read_lock(redis_state& state, std::string value, bool is_redlock)
{
    if (auto const token = take_token(value))
        state.token = *token;
    if (auto const colon = value.find(':'); is_redlock && colon != std::string::npos)
        value.erase(0, colon + 1);
    if (!is_redlock || state.token != "0")
        state.owner = std::move(value);
}

// The reply; where that is an error, as for a key of another type, it is noted and nothing
// returned.
std::optional<redis_reply> read(redis_look& redis, redis_state& state,
                                std::vector<std::string> const& words)
{
    auto reply = redis.ask(words);
    if (reply.type != redis_reply::kind::error)
        return reply;
    state.trouble += (state.trouble.empty() ? "" : "; ") + words[1] + ": " + reply.text;
    return std::nullopt;
}

void read_counter(redis_state& state, redis_look& redis, detail::redis_keys const& keys,
                  key_preset preset)
{
    redis.go_to_server_of(keys.state);
    if (preset == key_preset::plain) {
        if (auto const counter = read(redis, state, {"GET", keys.state}))
            state.last = counter->text;
        return;
    }
    if (auto const counter = read(redis, state, {"HMGET", keys.state, "last", "end"})) {
        state.last = counter->elements.at(0).text;
        state.block_end = counter->elements.at(1).text;
    }
}

} // namespace

redis_state look_at(redis_look& redis, std::string const& resource, key_preset preset,
                    bool is_redlock)
{
    auto const keys = detail::keys_of(resource, preset);
    redis_state state;
    redis.go_to_server_of(keys.lock);
    auto const held = read(redis, state, {"GET", keys.lock});
    if (held && held->type == redis_reply::kind::text) {
        read_lock(state, held->text, is_redlock);
        if (auto const left = read(redis, state, {"PTTL", keys.lock}))
            state.ttl_ms = left->integer;
    }
    if (!is_redlock)
        read_counter(state, redis, keys, preset);
    return state;
}

void add_holder(json_object& object, redis_state const& state)
{
    if (!state.trouble.empty())
        object.add("error", state.trouble);
    if (!state.trouble.empty() && !state.owner)
        return;
    object.add("held", state.owner.has_value());
    if (!state.owner)
        return;
    object.add("owner", *state.owner);
    object.add_number("token", state.token);
    object.add("ttl_ms", state.ttl_ms);
}

std::string holder_text(redis_state const& state)
{
    auto const trouble =
        state.trouble.empty() ? std::string{} : "cannot be read: " + printable(state.trouble);
    if (!state.owner)
        return trouble.empty() ? "not held" : output().painted(trouble, colour::red);
    auto text = output().painted("held by " + printable(*state.owner), colour::green);
    if (!state.token.empty())
        text += " with token " + state.token;
    text += state.ttl_ms >= 0 ? ", " + std::to_string(state.ttl_ms) + " ms left"
                              : ", " + output().painted("without a TTL", colour::red);
    return trouble.empty() ? text : text + "; " + output().painted(trouble, colour::red);
}

} // namespace fencelock::cli
