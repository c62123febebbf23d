#include "redis_view.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fencelock/errors.hpp>
#include <fencelock/redlock_locks.hpp>

#include "exit_code.hpp"
#include "keys.hpp"
#include "messages.hpp"
#include "terminal.hpp"

namespace fencelock::cli {

namespace {

// All that are held at one server. False where the names of some are not known.
bool add_held(std::set<std::string>& names, redis_look& redis, key_preset preset)
{
    bool all = true;
    redis.scan(detail::lock_pattern(preset), [&](std::string const& key) {
        if (auto const name = detail::resource_of_lock(key, preset)) {
            names.insert(*name);
            return;
        }
        all = false;
        say("held, but too long a name to be read from its key: " + key);
    });
    return all;
}

bool is_cluster(redis_look const& redis)
{
    return redis.target().what == detail::redis_target::kind::cluster;
}

} // namespace

redis_view::redis_view(arguments const& given, int& code)
    : keys_{given.keys}, count_{given.redis.size()}, code_{code}
{
    if (is_redlock())
        redlock_locks const are_usable{given.redis};
    for (auto const& url : given.redis)
        reached_.push_back(std::make_unique<redis_look>(url, given.keys));
    ask_each([](redis_look& one) { one.go_to(one.servers().front()); });
}

// One that refuses may answer another question.
template <typename Ask>
void redis_view::ask_each(Ask ask)
{
    std::erase_if(reached_, [&](auto const& one) {
        try {
            ask(*one);
            return false;
        } catch (configuration_error const& e) {
            code_ = report(e);
            return !one->is_connected();
        } catch (issuer_unavailable const& e) {
            code_ = report(e);
            return true;
        }
    });
}

std::set<std::string> redis_view::held()
{
    std::set<std::string> names;
    ask_each([&](redis_look& one) {
        for (auto const& server : one.servers())
            try {
                one.go_to(server);
                lists_all_ = add_held(names, one, keys_) && lists_all_;
            } catch (issuer_unavailable const& e) { // the cluster's other nodes have theirs
                if (!is_cluster(one))
                    throw;
                code_ = report(e);
            }
    });
    return names;
}

void redis_view::add_json(json_object& object, std::string const& resource)
{
    auto const all = votes(resource);
    if (all.empty())
        return;
    json_object of_redis;
    if (!is_redlock()) {
        auto const& state = all.front().state;
        add_holder(of_redis, state);
        of_redis.add_number("last", state.last);
        of_redis.add_number("block_end", state.block_end);
        object.add("redis", of_redis);
        return;
    }
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

std::vector<std::string> redis_view::lines_of(std::string const& resource)
{
    auto const all = votes(resource);
    if (all.empty())
        return {};
    if (!is_redlock()) {
        auto const& state = all.front().state;
        auto line = "  redis     " + holder_text(state);
        if (!state.last.empty())
            line += "; last token " + printable(state.last);
        if (!state.block_end.empty())
            line += " of a block up to " + printable(state.block_end);
        return {line};
    }
    auto const held = majority(all);
    std::vector<std::string> lines{"  redlock   " +
                                   (held ? holder_text(*held) : "not held by a majority")};
    for (auto const& [place, state] : all)
        lines.push_back("            " + place + ": " + holder_text(state));
    return lines;
}

std::vector<redis_view::vote> redis_view::votes(std::string const& resource)
{
    std::vector<vote> all;
    ask_each([&](redis_look& one) {
        try {
            all.push_back({one.place(), look_at(one, resource, keys_, is_redlock())});
            if (!all.back().state.trouble.empty())
                code_ = failed;
        } catch (issuer_unavailable const& e) { // of this resource's node
            if (!is_cluster(one))
                throw;
            all.push_back({one.place(), {}});
            all.back().state.trouble = e.what();
            code_ = unavailable;
        }
    });
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
