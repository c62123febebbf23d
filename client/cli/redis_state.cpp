#include "redis_state.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <utility>

#include <fencelock/errors.hpp>
#include <fencelock/redlock_locks.hpp>

#include "exit_code.hpp"
#include "keys.hpp"

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

redis_state look(redis_look& redis, std::string const& resource, key_preset preset, bool is_redlock)
{
    auto const keys = detail::keys_of(resource, preset);
    redis_state state;
    redis.go_to_server_of(keys.lock);
    auto const held = redis.need({"GET", keys.lock});
    if (held.type == redis_reply::kind::text) {
        read_lock(state, held.text, is_redlock);
        state.ttl_ms = redis.need({"PTTL", keys.lock}).integer;
    }
    if (is_redlock)
        return state;
    redis.go_to_server_of(keys.state);
    if (preset == key_preset::plain) {
        state.last = redis.need({"GET", keys.state}).text;
        return state;
    }
    auto const counter = redis.need({"HMGET", keys.state, "last", "end"});
    state.last = counter.elements.at(0).text;
    state.block_end = counter.elements.at(1).text;
    return state;
}

// All that are held at one server.
void add_held(std::set<std::string>& names, redis_look& redis, key_preset preset)
{
    std::string cursor = "0";
    do {
        auto const page =
            redis.need({"SCAN", cursor, "MATCH", detail::lock_pattern(preset), "COUNT", "1000"});
        cursor = page.elements.at(0).text;
        for (auto const& key : page.elements.at(1).elements) {
            if (auto const name = detail::resource_of_lock(key.text, preset))
                names.insert(*name);
            else
                std::cerr << "fencelock: held, but too long a name to be read from its key: "
                          << key.text << '\n';
        }
    } while (cursor != "0");
}

void add_holder(json_object& object, redis_state const& state)
{
    object.add("held", state.owner.has_value());
    if (!state.owner)
        return;
    object.add("owner", *state.owner);
    object.add_number("token", state.token);
    object.add("ttl_ms", state.ttl_ms);
}

std::string holder_text(redis_state const& state)
{
    if (!state.owner)
        return "not held";
    auto text = "held by " + *state.owner;
    if (!state.token.empty())
        text += " with token " + state.token;
    return text + (state.ttl_ms >= 0 ? ", " + std::to_string(state.ttl_ms) + " ms left"
                                     : std::string{", without a TTL"});
}

} // namespace

redis_view::redis_view(arguments const& given, int& code)
    : keys_{given.keys}, count_{given.redis.size()}
{
    if (is_redlock())
        redlock_locks const are_usable{given.redis};
    for (auto const& url : given.redis) {
        try {
            auto one = std::make_unique<redis_look>(url, given.keys);
            one->go_to(one->servers().front());
            reached_.push_back(std::move(one));
        } catch (issuer_unavailable const& e) {
            if (&url == &given.redis.back() && reached_.empty())
                throw;
            code = report(e);
        }
    }
}

std::set<std::string> redis_view::held()
{
    std::set<std::string> names;
    for (auto const& one : reached_)
        for (auto const& server : one->servers()) {
            one->go_to(server);
            add_held(names, *one, keys_);
        }
    return names;
}

void redis_view::add_json(json_object& object, std::string const& resource)
{
    json_object of_redis;
    if (!is_redlock()) {
        auto const state = look(*reached_.front(), resource, keys_, false);
        add_holder(of_redis, state);
        of_redis.add_number("last", state.last);
        of_redis.add_number("block_end", state.block_end);
        object.add("redis", of_redis);
        return;
    }
    auto const all = votes(resource);
    add_holder(of_redis, majority(all).value_or(redis_state{}));
    std::vector<json_object> servers;
    for (auto const& [place, state] : all) {
        json_object server;
        server.add("server", place);
        add_holder(server, state);
        servers.push_back(std::move(server));
    }
    of_redis.add("servers", servers);
    object.add("redlock", of_redis);
}

void redis_view::print(std::string const& resource)
{
    if (!is_redlock()) {
        auto const state = look(*reached_.front(), resource, keys_, false);
        std::cout << "  redis     " << holder_text(state);
        if (!state.last.empty())
            std::cout << "; last token " << state.last;
        if (!state.block_end.empty())
            std::cout << " of a block up to " << state.block_end;
        std::cout << '\n';
        return;
    }
    auto const all = votes(resource);
    auto const held = majority(all);
    std::cout << "  redlock   " << (held ? holder_text(*held) : "not held by a majority") << '\n';
    for (auto const& [place, state] : all)
        std::cout << "            " << place << ": " << holder_text(state) << '\n';
}

std::vector<redis_view::vote> redis_view::votes(std::string const& resource)
{
    std::vector<vote> all;
    for (auto const& one : reached_)
        all.push_back({one->place(), look(*one, resource, keys_, true)});
    return all;
}

// It is held as long as so many servers keep it.
std::optional<redis_state> redis_view::majority(std::vector<vote> const& votes) const
{
    auto const quorum = count_ / 2 + 1;
    std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> ttls;
    for (auto const& [place, state] : votes)
        if (state.owner)
            ttls[{state.token, *state.owner}].push_back(state.ttl_ms);
    for (auto& [holder, left] : ttls) {
        if (left.size() < quorum)
            continue;
        std::sort(left.begin(), left.end(), std::greater<>{});
        redis_state state;
        state.token = holder.first;
        state.owner = holder.second;
        state.ttl_ms = left[quorum - 1];
        return state;
    }
    return std::nullopt;
}

} // namespace fencelock::cli
