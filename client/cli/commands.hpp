// The commands. Each returns the program's exit code, or throws what report() knows.
#pragma once

#include "arguments.hpp"

namespace fencelock::cli {

int run(arguments const& given);
int acquire(arguments const& given);
int renew(arguments const& given);
int release(arguments const& given);
int show(arguments const& given);
int doctor(arguments const& given);

} // namespace fencelock::cli
