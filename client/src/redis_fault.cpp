#include "redis_fault.hpp"

#include <algorithm>
#include <array>

namespace fencelock::detail {

namespace {

constexpr std::array<std::string_view, 8> configuration_codes{
    "NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE", "MOVED", "ASK", "CROSSSLOT", "ERR"};

} // namespace

std::string_view code_of(std::string_view reply)
{
    if (reply.starts_with("ERR Error running script"))
        if (auto const inner = reply.rfind(": -"); inner != std::string_view::npos)
            reply.remove_prefix(inner + 3);
    return reply.substr(0, reply.find(' '));
}

bool is_configuration(std::string_view reply)
{
    if (reply.starts_with("ERR max number of clients"))
        return false;
    return std::find(configuration_codes.begin(), configuration_codes.end(), code_of(reply)) !=
           configuration_codes.end();
}

bool is_missing_right(std::string_view reply)
{
    return code_of(reply) == "NOPERM" || reply.find("ACL failure") != std::string_view::npos ||
           reply.find("can't run this command") != std::string_view::npos;
}

} // namespace fencelock::detail
