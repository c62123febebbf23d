#include "redis_pool.hpp"

#include <utility>

#include "limits.hpp"
#include "process.hpp"

namespace fencelock {

redis_locks::redis_locks(std::string_view url, redis_options const& options)
    : pool_{std::make_shared<detail::redis_pool>(detail::parse_redis_url(url, options), options)}
{
}

redis_locks::~redis_locks() = default;

} // namespace fencelock

namespace fencelock::detail {

redis_pool::redis_pool(redis_target const& target, redis_options const& options)
    : target_{target}, options_{options}, connector_{target.tls, options.connect_timeout}
{
    check_timeout(options.connect_timeout, "connect_timeout");
    check_timeout(options.command_timeout, "command_timeout");
    check_timeout(options.state_idle, "state_idle");
    check_block_size(options.block_size);
    possessions_ = new_possessions().release();
}

redis_pool::~redis_pool()
{
    auto* const last = possessions_.load();
    if (last->process == process_id())
        delete last; // else they are the parent's
}

std::unique_ptr<redis_pool::possessions> redis_pool::new_possessions() const
{
    auto made = std::make_unique<possessions>();
    made->process = process_id();
    made->topology = make_topology(target_, connector_);
    return made;
}

// What a parent left is not used: of two who read from one connection each would get the other's
// replies. Nor is it closed; and its mutexes, the topology's included, are not touched, which
// another of its threads may have held when it forked.
redis_pool::possessions& redis_pool::own()
{
    auto* known = possessions_.load();
    while (known->process != process_id()) {
        auto mine = new_possessions();
        if (possessions_.compare_exchange_strong(known, mine.get()))
            known = mine.release();
    }
    return *known;
}

std::unique_ptr<redis_link> redis_pool::take(redis_address const& server,
                                             steady::time_point deadline)
{
    for (;;) {
        std::unique_ptr<redis_link> link;
        {
            auto& mine = own();
            std::lock_guard const guard{mine.mutex};
            auto& of_server = mine.idle[server.display()];
            if (of_server.empty())
                break;
            link = std::move(of_server.back());
            of_server.pop_back();
        }
        if (link->fresh())
            return link;
    }
    return connector_.connect(server, deadline);
}

void redis_pool::give_back(std::unique_ptr<redis_link> link) noexcept
try {
    if (!link || !link->settled())
        return;
    link->ask_before_commands(false);
    auto& mine = own();
    std::lock_guard const guard{mine.mutex};
    auto& of_server = mine.idle[link->address().display()];
    if (of_server.size() < options_.idle_connections)
        of_server.push_back(std::move(link));
} catch (std::exception const&) { // no memory: it is closed
}

void redis_pool::doubt(redis_address const& server)
{
    topology().doubt(server);
    links closed_without_the_mutex;
    auto& mine = own();
    std::lock_guard const guard{mine.mutex};
    closed_without_the_mutex.swap(mine.idle[server.display()]);
}

namespace {

std::vector<std::string> script_command(char const* name, std::string_view script,
                                        std::span<std::string const> keys,
                                        std::span<std::string const> arguments)
{
    std::vector<std::string> command{name, std::string{script}, std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

redis_reply no_error(redis_reply reply)
{
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
    return reply;
}

} // namespace

redis_reply run_script(redis_link& link, script const& what, std::span<std::string const> keys,
                       std::span<std::string const> arguments, steady::time_point deadline)
{
    auto reply = link.command(script_command("EVALSHA", what.sha1, keys, arguments), deadline);
    if (reply.type == redis_reply::kind::error && reply.text.starts_with("NOSCRIPT"))
        return run_script_body(link, what, keys, arguments, deadline);
    return no_error(std::move(reply));
}

redis_reply run_script_body(redis_link& link, script const& what, std::span<std::string const> keys,
                            std::span<std::string const> arguments, steady::time_point deadline)
{
    return no_error(link.command(script_command("EVAL", what.body, keys, arguments), deadline));
}

std::vector<std::string> words_of(redis_reply const& reply, redis_link& link)
{
    std::vector<std::string> words;
    for (auto const& element : reply.elements)
        words.push_back(element.type == redis_reply::kind::integer ? std::to_string(element.integer)
                                                                   : element.text);
    if (words.empty())
        throw link_failure{"a script has an unexpected reply", true};
    if (reply.elements.back().type == redis_reply::kind::integer)
        link.note_server_time(reply.elements.back().integer);
    return words;
}

} // namespace fencelock::detail
