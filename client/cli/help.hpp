// What --help prints.
#pragma once

#include <optional>
#include <string>

#include "command.hpp"

namespace fencelock::cli {

/// Of a command, or of the program.
std::string help_of(std::optional<command> one);

} // namespace fencelock::cli
