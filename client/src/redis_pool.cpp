#include "redis_pool.hpp"

#include <unistd.h>

#include <utility>

#include "limits.hpp"

namespace fencelock {

redis_locks::redis_locks(std::string_view url, redis_options const& options)
    : pool_{std::make_shared<detail::redis_pool>(detail::parse_redis_url(url, options), options)}
{
}

redis_locks::~redis_locks() = default;

} // namespace fencelock

namespace fencelock::detail {

redis_pool::redis_pool(redis_target const& target, redis_options const& options)
    : options_{options}, connector_{target.tls, options.connect_timeout}, topology_{make_topology(
                                                                              target, connector_)}
{
    check_timeout(options.connect_timeout, "connect_timeout");
    check_timeout(options.command_timeout, "command_timeout");
    check_timeout(options.state_idle, "state_idle");
    check_block_size(options.block_size);
    idle_ = new idle_links{::getpid()};
}

redis_pool::~redis_pool()
{
    auto* const last = idle_.load();
    if (last->process == ::getpid())
        delete last; // else they are the parent's
}

// What a parent left is neither used, for one of the two would read the other's replies, nor
// closed, nor is its mutex touched, which another of its threads may have held when it forked.
redis_pool::idle_links& redis_pool::idle()
{
    auto* known = idle_.load();
    while (known->process != ::getpid()) {
        auto own = std::make_unique<idle_links>(::getpid());
        if (idle_.compare_exchange_strong(known, own.get()))
            known = own.release();
    }
    return *known;
}

std::unique_ptr<redis_link> redis_pool::take(redis_address const& server,
                                             steady::time_point deadline)
{
    for (;;) {
        std::unique_ptr<redis_link> link;
        {
            auto& mine = idle();
            std::lock_guard const guard{mine.mutex};
            auto& of_server = mine.by_server[server.display()];
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

void redis_pool::give_back(std::unique_ptr<redis_link> link)
{
    link->ask_before_commands(false);
    auto& mine = idle();
    std::lock_guard const guard{mine.mutex};
    auto& of_server = mine.by_server[link->address().display()];
    if (of_server.size() < options_.idle_connections)
        of_server.push_back(std::move(link));
}

void redis_pool::doubt(redis_address const& server)
{
    topology_->doubt(server);
    links closed_without_the_mutex;
    auto& mine = idle();
    std::lock_guard const guard{mine.mutex};
    closed_without_the_mutex.swap(mine.by_server[server.display()]);
}

redis_reply run_script(redis_link& link, script const& what, std::span<std::string const> keys,
                       std::span<std::string const> arguments, steady::time_point deadline)
{
    std::vector<std::string> command{"EVALSHA", std::string{what.sha1},
                                     std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto reply = link.command(command, deadline);
    if (reply.type == redis_reply::kind::error && reply.text.starts_with("NOSCRIPT")) {
        command[0] = "EVAL";
        command[1] = what.body;
        reply = link.command(command, deadline);
    }
    if (reply.type == redis_reply::kind::error)
        throw redis_error{reply.text};
    return reply;
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
