#include "redis_fault.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

constexpr std::array<std::string_view, 8> configuration_codes{
    "NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE", "MOVED", "ASK", "CROSSSLOT", "ERR"};

// What a command answered has a code, in capitals; what is wrong with a script itself has none.
bool has_code(std::string_view text)
{
    auto const code = text.substr(0, text.find(' '));
    return !code.empty() &&
           std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Redis 6 tells the place in a script before the command's own error, behind "@user_script:9: ",
// and again where the command was refused before it ran: "@user_script: 9: -". Later versions tell
// it behind the error.
std::string_view without_place(std::string_view reply)
{
    constexpr std::string_view place = "@user_script:";
    if (reply.starts_with("ERR Error running script")) {
        auto inner = reply.substr(std::min(reply.rfind(place), reply.size()));
        inner.remove_prefix(std::min(inner.size(), place.size()));
        inner.remove_prefix(std::min(inner.size(), inner.find(": ")));
        inner.remove_prefix(std::min<std::size_t>(inner.size(), 2));
        if (inner.starts_with('-'))
            inner.remove_prefix(1);
        if (has_code(inner))
            return inner;
    }
    return reply.substr(0, reply.find(" script: "));
}

// The command that the reply says was refused. Empty where it names none, or no more than the first
// word of one that has rights for what follows (INFO, and before Redis 7 others).
std::string_view refused_command(std::string_view reply)
{
    constexpr std::string_view before = "no permissions to run the '";
    auto const at = reply.find(before);
    if (at == std::string_view::npos)
        return {};
    reply.remove_prefix(at + before.size());
    auto const command = reply.substr(0, reply.find('\''));
    if (command == "config") // the only part of it that is asked for; others change the server
        return "config|get";
    return command == "info" || command == "cluster" || command == "sentinel" ? std::string_view{}
                                                                              : command;
}

std::string remedy_for_missing_right(std::string_view reply)
{
    if (auto const command = refused_command(reply); !command.empty())
        return " (the user needs +" + std::string{command} + ")";
    if (reply.find(" access ") != std::string_view::npos)
        return " (the user needs the pattern of the keys: ~fencelock:*, or with plain keys ~lock:* "
               "~fence:* ~wake:*)";
    return " (the user needs +info|replication and the commands of the scripts; in a cluster "
           "+cluster|slots and +asking)";
}

std::string remedy_for(std::string_view reply)
{
    auto const code = code_of(reply);
    if (is_missing_right(reply))
        return remedy_for_missing_right(reply);
    if (code == "OOM")
        return " (raise its maxmemory, or delete what else is kept there)";
    if (code == "NOAUTH")
        return " (it wants a password, which stands in the URL before the host, as :PASSWORD@ or "
               "USER:PASSWORD@)";
    if (code == "WRONGPASS")
        return " (correct the user and the password in the URL)";
    return {};
}

} // namespace

std::string_view code_of(std::string_view reply)
{
    reply = without_place(reply);
    return reply.substr(0, reply.find(' '));
}

bool is_configuration(std::string_view reply)
{
    if (reply.starts_with("ERR max number of clients"))
        return false;
    return std::find(configuration_codes.begin(), configuration_codes.end(), code_of(reply)) !=
           configuration_codes.end();
}

bool is_of_server(std::string_view reply)
{
    auto const code = code_of(reply);
    return code == "READONLY" || code == "LOADING" || code == "MASTERDOWN" ||
           code == "CLUSTERDOWN" || code == "UNBLOCKED";
}

bool passes_at_once(std::string_view reply)
{
    return code_of(reply) == "TRYAGAIN"; // a slot is on its way, some of the keys have left
}

// MOVED slot host:port, ASK slot host:port. An IPv6 host has colons of its own.
std::optional<redirection> redirection_of(std::string_view reply)
{
    auto const code = code_of(reply);
    if (code != "MOVED" && code != "ASK")
        return std::nullopt;
    redirection to;
    to.once = code == "ASK";
    reply.remove_prefix(std::min(code.size() + 1, reply.size()));
    auto const [end, failed] = std::from_chars(reply.data(), reply.data() + reply.size(), to.slot);
    reply.remove_prefix(static_cast<std::size_t>(end - reply.data()));
    auto const colon = reply.rfind(':');
    if (failed != std::errc{} || !reply.starts_with(' ') || colon == reply.npos ||
        colon + 1 == reply.size())
        return std::nullopt;
    to.host = reply.substr(1, colon - 1);
    to.port = reply.substr(colon + 1);
    return to;
}

std::string told_by_reply(std::string_view reply)
{
    return std::string{without_place(reply)}.append(remedy_for(reply));
}

void throw_reply(std::string const& reply, std::string const& place, std::string const& resource)
{
    auto const what = place + ": " + told_by_reply(reply);
    if (!is_configuration(reply))
        throw issuer_unavailable{what, resource};
    if (redirection_of(reply))
        throw configuration_error{what + " (a node of a cluster: redis+cluster:// goes there)",
                                  resource};
    throw configuration_error{what, resource};
}

bool is_missing_right(std::string_view reply)
{
    return code_of(reply) == "NOPERM" || reply.find("ACL failure") != std::string_view::npos ||
           reply.find("can't run this command") != std::string_view::npos;
}

} // namespace fencelock::detail
