#include "refusal.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

struct known_refusal {
    std::string_view sqlstate;
    refusal_kind kind;
    std::string_view after_resource; ///< how the primary message goes on behind the name
};

constexpr std::array<known_refusal, 4> known_refusals{{
    {"LF001", refusal_kind::stale, "\""},
    {"LF002", refusal_kind::required, "\""},
    {"LF003", refusal_kind::conflict, "\" belongs to another owner"},
    {"LF004", refusal_kind::not_issued, "\" was never issued"},
}};

// What stands before the number that a stale token does not reach; a message has one of them.
constexpr std::array<std::string_view, 3> marks{"below the mark ", "not above the mark ",
                                                "below the newest reservation "};

// The number behind the first `words`, 0 where there is none.
std::int64_t number_after(std::string_view text, std::string_view words)
{
    auto const at = text.find(words);
    if (at == std::string_view::npos)
        return 0;
    text.remove_prefix(at + words.size());
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// The name between the first `resource "` and what must follow it: `end`, and, where that is the
// bare quote, the end of the line. Numbers come before the name, so whatever it contains, they are
// safe.
std::string_view quoted_resource(std::string_view text, std::string_view end)
{
    constexpr std::string_view begin = "resource \"";
    auto const at = text.find(begin);
    if (at == std::string_view::npos)
        return {};
    text.remove_prefix(at + begin.size());
    auto close = text.find(end);
    while (close != std::string_view::npos && end == "\"" && close + 1 < text.size() &&
           text[close + 1] != '\n')
        close = text.find(end, close + 1);
    return close == std::string_view::npos ? std::string_view{} : text.substr(0, close);
}

// The part of the message before the name of a resource or table: everything of it is the server's.
std::string_view before_names(std::string_view message)
{
    return message.substr(0, message.find('"'));
}

// libpqxx shows severity, primary message, DETAIL, HINT and CONTEXT as one text. The primary
// message runs to the end of its line, or further where the name of its resource contains line
// breaks.
std::string_view primary_message(std::string_view text, std::string_view resource)
{
    // Whichever comes first: names, which may contain anything, come later.
    auto const at = std::min(text.find("no fencing token "), text.find("fencing token "));
    if (at == std::string_view::npos)
        return text;
    text.remove_prefix(at);
    // The name contains line breaks of its own only where it is in the text.
    auto const name_end = resource.empty() ? 0 : text.find(resource) + resource.size();
    return text.substr(0, text.find('\n', name_end));
}

} // namespace

std::optional<refusal> parse_refusal(std::string_view sqlstate, std::string_view text)
{
    for (auto const& known : known_refusals) {
        if (sqlstate != known.sqlstate)
            continue;
        refusal found;
        found.kind = known.kind;
        found.resource = quoted_resource(text, known.after_resource);
        auto const message = primary_message(text, found.resource);
        found.message = message;
        auto const numbers = before_names(message);
        found.token = number_after(numbers, "fencing token ");
        if (found.kind == refusal_kind::stale)
            for (auto const words : marks)
                found.mark = std::max(found.mark, number_after(numbers, words));
        return found;
    }
    return std::nullopt;
}

std::optional<refusal> refusal_of(std::exception const& e)
{
    return parse_refusal(sqlstate_of(e), e.what());
}

void throw_refusal(refusal const& what)
{
    switch (what.kind) {
    case refusal_kind::stale:
        throw stale_token{what.message, what.resource, what.token, what.mark};
    case refusal_kind::required:
        throw token_required{what.message +
                                 ": hold its lock and write inside transaction(), or claim() "
                                 "it first",
                             what.resource};
    case refusal_kind::conflict:
        throw token_conflict{what.message, what.resource, what.token};
    case refusal_kind::not_issued:
        break;
    }
    throw token_not_issued{what.message, what.resource, what.token};
}

database_fault fault_of(std::string_view sqlstate)
{
    if (sqlstate == "40001" || sqlstate == "40P01")
        return database_fault::again;
    if (sqlstate == "22023")
        return database_fault::bad_argument;
    // 25006: a standby. 55P03, 57014: a lock or the statement took too long. 57P: the server is
    // ending or not up yet. 53: out of resources. 08: the connection.
    for (std::string_view const passing : {"25006", "55P03", "57014", "57P", "53", "08", "40"})
        if (sqlstate.starts_with(passing))
            return database_fault::unavailable;
    return database_fault::configuration;
}

std::string_view remedy_for(std::string_view sqlstate)
{
    if (sqlstate == "25006")
        return " (no token can be issued or accepted: connect to the primary where this is a "
               "standby, else default_transaction_read_only is on, and fencelock doctor tells "
               "where)";
    if (sqlstate == "3D000")
        return " (create it, or name another one in the connection string)";
    if (sqlstate.starts_with("28"))
        return " (look at the user and password of the connection string, and at the server's "
               "pg_hba.conf)";
    return {};
}

bool refuses_for_good(std::string_view sqlstate)
{
    // 28: who it is, or may not log in. 3D000: no such database. 22, 42: an option or its value, a
    // missing right. 55000: the database takes no connections. 0A000: what the server has not.
    constexpr std::array<std::string_view, 6> lasting{"28", "3D000", "22", "42", "55000", "0A000"};
    return std::any_of(lasting.begin(), lasting.end(),
                       [&](auto const& code) { return sqlstate.starts_with(code); });
}

} // namespace fencelock::detail
