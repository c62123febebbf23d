// The Lua scripts, embedded by the build from src/scripts/.
#pragma once

#include <string_view>

namespace fencelock::detail {

struct script {
    std::string_view body;
    std::string_view sha1; ///< in hex, as EVALSHA takes it
};

extern script const acquire_script;
extern script const acquire_plain_script;
extern script const renew_script;
extern script const release_script;

} // namespace fencelock::detail
