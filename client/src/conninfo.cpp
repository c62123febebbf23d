#include "conninfo.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

// libpq connects without a deadline of ours, so it needs one of its own; 2 s is its smallest.
constexpr long least_connect_seconds = 2;

struct setting {
    std::string_view keyword, value;
};

// Where the caller says nothing: a transaction waits for its server without a deadline of ours, and
// a network that has gone silent would keep it for hours.
constexpr std::array<setting, 4> time_limits{{
    {"connect_timeout", "2"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
}};

using parsed_conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// Null where it cannot be parsed.
parsed_conninfo parsed(std::string const& conninfo)
{
    char* message = nullptr;
    parsed_conninfo options{PQconninfoParse(conninfo.c_str(), &message), &PQconninfoFree};
    PQfreemem(message);
    return options;
}

bool has(PQconninfoOption const* options, std::string_view keyword)
{
    for (auto const* option = options; option->keyword; ++option)
        if (keyword == option->keyword)
            return option->val != nullptr;
    return false;
}

// Also outside of the connection string: what a service file says is known to libpq alone.
bool is_said(PQconninfoOption const* options, setting const& limit)
{
    if (has(options, limit.keyword) || has(options, "service") || std::getenv("PGSERVICE"))
        return true;
    return limit.keyword == "connect_timeout" && std::getenv("PGCONNECT_TIMEOUT");
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
    for (auto const* option = options.get(); option->keyword; ++option)
        if (option->val && option->keyword != std::string_view{"client_encoding"})
            append(complete, option->keyword, option->val);
    append(complete, "client_encoding", "UTF8"); // as names of resources are
    for (auto const& limit : time_limits)
        if (!is_said(options.get(), limit))
            append(complete, limit.keyword, limit.value);
    if (!has(options.get(), "fallback_application_name"))
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
