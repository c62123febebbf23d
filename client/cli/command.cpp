#include "command.hpp"

#include <array>
#include <utility>

namespace fencelock::cli {

namespace {

constexpr std::array<std::pair<std::string_view, command>, 6> commands{{
    {"run", command::run},
    {"acquire", command::acquire},
    {"renew", command::renew},
    {"release", command::release},
    {"show", command::show},
    {"doctor", command::doctor},
}};

} // namespace

std::string_view name_of(command one)
{
    return commands.at(static_cast<std::size_t>(one)).first;
}

std::optional<command> command_named(std::string_view name)
{
    for (auto const& [known, one] : commands)
        if (known == name)
            return one;
    return std::nullopt;
}

} // namespace fencelock::cli
