#include "redis_look.hpp"

#include <fencelock/errors.hpp>

#include "redis_fault.hpp"

namespace fencelock::cli {

namespace {

constexpr std::chrono::seconds answer_limit{5};

} // namespace

redis_look::redis_look(std::string const& url, key_preset keys)
    : target_{detail::parse_redis_url(url)}, pool_{std::make_shared<detail::redis_pool>(
                                                 target_, redis_options{.keys = keys})}
{
}

std::vector<detail::redis_address> redis_look::servers()
{
    auto all = found(place(), [this](detail::steady::time_point deadline) {
        return pool_->topology().servers(deadline);
    });
    if (all.empty())
        throw issuer_unavailable{place() + ": no node of the cluster has slots"};
    return all;
}

void redis_look::go_to(detail::redis_address const& server)
{
    link_ = found(server.display(), [&](detail::steady::time_point deadline) {
        return pool_->take(server, deadline);
    });
}

void redis_look::go_to_server_of(std::string const& key)
{
    auto const server = found(place(), [&](detail::steady::time_point deadline) {
        return pool_->topology().server_for(key, deadline);
    });
    if (!link_ || !link_->address().is_same_server(server))
        go_to(server);
}

template <typename Find>
std::invoke_result_t<Find, detail::steady::time_point> redis_look::found(std::string const& where,
                                                                         Find find)
try {
    return find(detail::steady::now() + answer_limit);
} catch (detail::link_failure const& e) {
    throw issuer_unavailable{where + ": " + e.what()};
} catch (detail::redis_error const& e) {
    detail::throw_reply(e.what(), where, {});
}

detail::redis_reply redis_look::ask(std::vector<std::string> const& words)
try {
    return link_->command(words, detail::steady::now() + answer_limit);
} catch (detail::link_failure const& e) {
    throw issuer_unavailable{link_->address().display() + ": " + e.what()};
}

detail::redis_reply redis_look::need(std::vector<std::string> const& words)
{
    auto reply = ask(words);
    if (reply.type == detail::redis_reply::kind::error)
        detail::throw_reply(reply.text, link_->address().display(), {});
    return reply;
}

void redis_look::scan(std::string const& pattern,
                      std::function<void(std::string const&)> const& see)
{
    std::string cursor = "0";
    do {
        auto const page = need({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
        cursor = page.elements.at(0).text;
        for (auto const& key : page.elements.at(1).elements)
            see(key.text);
    } while (cursor != "0");
}

std::optional<std::string> redis_look::info(std::string const& section)
{
    auto const reply = ask({"INFO", section});
    if (reply.type == detail::redis_reply::kind::text)
        return reply.text;
    return std::nullopt;
}

std::optional<std::string> redis_look::setting(std::string const& name)
{
    auto const reply = ask({"CONFIG", "GET", name});
    if (reply.type == detail::redis_reply::kind::array && reply.elements.size() == 2)
        return reply.elements[1].text;
    return std::nullopt;
}

std::string value_in(std::string_view info, std::string_view name)
{
    while (!info.empty()) {
        auto line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(line.size() + 1, info.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
            return std::string{line.substr(name.size() + 1)};
    }
    return {};
}

} // namespace fencelock::cli
