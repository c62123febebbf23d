// What the program's exit code says, as sysexits.h numbers it where that has a number.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "command.hpp"

namespace fencelock::cli {

enum exit_code : int {
    success = 0,
    found_something = 1,
    usage = 64,
    unavailable = 69,
    failed = 70,
    not_acquired = 75,
    not_ours = 76,
    refused = 77,
    cannot_execute = 126,
    not_found = 127,
    killed = 128, ///< plus the signal's number
};

/// What each code of a command says, or of all commands, a line each, as help prints it.
std::string exit_codes_of(std::optional<command> one);

/// Says on stderr what is wrong, and returns the code that stands for it.
int report(std::exception const& e);

} // namespace fencelock::cli
