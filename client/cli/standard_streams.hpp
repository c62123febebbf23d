// What the program reads from and writes to: descriptors 0, 1 and 2.
#pragma once

#include <string>

namespace fencelock::cli {

/// Keeps whichever of the three was closed from becoming a connection: what is written to it fails
/// with EBADF, as to a closed one, and a program that is run finds it closed. To be called before
/// anything else is opened. Throws std::system_error.
void occupy_closed_streams();

/// Hands on what was written to std::cout. Throws std::runtime_error, whose message ends with
/// `consequence`, where some of it cannot be written.
void flush_output(std::string const& consequence = {});

} // namespace fencelock::cli
