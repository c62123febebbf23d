// The commands, and sets of them.
#pragma once

#include <optional>
#include <string_view>

namespace fencelock::cli {

enum class command { run, acquire, renew, release, show, doctor };

std::string_view name_of(command one);

/// Nothing where no command has that name.
std::optional<command> command_named(std::string_view name);

using command_set = unsigned;

constexpr command_set only(command one)
{
    return 1U << static_cast<unsigned>(one);
}

constexpr bool contains(command_set set, command one)
{
    return (set & only(one)) != 0;
}

inline constexpr command_set every_command = ~0U;
inline constexpr command_set that_take = only(command::run) | only(command::acquire);
inline constexpr command_set of_a_held_lock = only(command::renew) | only(command::release);

} // namespace fencelock::cli
