#include "conninfo.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

// libpq connects without a deadline of ours, so it needs one of its own; 2 s is its smallest.
constexpr std::string_view connect_seconds = "2";

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
    char* message = nullptr;
    std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> const options{
        PQconninfoParse(conninfo.c_str(), &message), &PQconninfoFree};
    std::unique_ptr<char, decltype(&PQfreemem)> const owned{message, &PQfreemem};
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
        append(complete, "connect_timeout", connect_seconds);
    if (!named)
        append(complete, "fallback_application_name", "fencelock");
    return complete;
}

} // namespace fencelock::detail
