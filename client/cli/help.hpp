// What --help prints.
#pragma once

#include <optional>
#include <string_view>

#include "arguments.hpp"

namespace fencelock::cli {

/// Of a command, or of the program.
std::string_view help_of(std::optional<command> one);

} // namespace fencelock::cli
