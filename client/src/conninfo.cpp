#include "conninfo.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

// libpq connects without a deadline of ours, so it needs one of its own; 2 s is its smallest.
constexpr long least_connect_seconds = 2;

using parsed_conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// Null where it cannot be parsed.
parsed_conninfo parsed(std::string const& conninfo)
{
    char* message = nullptr;
    parsed_conninfo options{PQconninfoParse(conninfo.c_str(), &message), &PQconninfoFree};
    PQfreemem(message);
    return options;
}

void append(std::string& to, std::string_view keyword, std::string_view value)
{
    if (!to.empty())
        to += ' ';
    to += keyword;
    to += "='";
    for (char const c : value) {
        if (c == '\'' || c == '\\')
            to += '\\';
        to += c;
    }
    to += '\'';
}

} // namespace

std::string with_defaults(std::string const& conninfo)
{
    auto const options = parsed(conninfo);
    if (!options)
        throw invalid_argument{"the PostgreSQL connection string cannot be parsed: it should look "
                               "like dbname=shop host=db.example, or postgresql://db.example/shop"};

    std::string complete;
    bool limited = std::getenv("PGCONNECT_TIMEOUT") != nullptr;
    bool named = false;
    for (auto const* option = options.get(); option->keyword; ++option) {
        std::string_view const keyword = option->keyword;
        if (!option->val || keyword == "client_encoding")
            continue;
        limited = limited || keyword == "connect_timeout";
        named = named || keyword == "fallback_application_name";
        append(complete, keyword, option->val);
    }
    append(complete, "client_encoding", "UTF8"); // as names of resources are
    if (!limited)
        append(complete, "connect_timeout", std::to_string(least_connect_seconds));
    if (!named)
        append(complete, "fallback_application_name", "fencelock");
    return complete;
}

std::string with_connect_limit(std::string const& complete, std::chrono::milliseconds most)
{
    auto const* const inherited = std::getenv("PGCONNECT_TIMEOUT");
    std::string configured = inherited ? inherited : "";
    auto const options = parsed(complete);
    for (auto const* option = options.get(); option && option->keyword; ++option)
        if (option->val && std::string_view{option->keyword} == "connect_timeout")
            configured = option->val;
    auto const own = std::strtol(configured.c_str(), nullptr, 10); // 0: for ever
    auto const limit = std::max<long>(std::chrono::ceil<std::chrono::seconds>(most).count(),
                                      least_connect_seconds);
    auto limited = complete;
    if (own <= 0 || own > limit)
        append(limited, "connect_timeout", std::to_string(limit));
    return limited;
}

} // namespace fencelock::detail
