// What the program's exit code says, as sysexits.h numbers it where that has a number.
#pragma once

#include <exception>
#include <stdexcept>

namespace fencelock::cli {

enum exit_code : int {
    success = 0,
    found_something = 1, ///< doctor
    usage = 64,
    unavailable = 69, ///< no issuer can be reached
    failed = 70,      ///< anything else
    not_acquired = 75,
    not_ours = 76, ///< lost, or never ours
    refused = 77,  ///< the database refused the token
    cannot_execute = 126,
    not_found = 127,
    killed = 128, ///< plus the signal's number
};

/// The command line is wrong; the message says what.
class usage_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Says on stderr what is wrong, and returns the code that stands for it.
int report(std::exception const& e);

} // namespace fencelock::cli
