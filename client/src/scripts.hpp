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
extern script const redlock_lock_script;
extern script const redlock_grant_script;
extern script const redlock_renew_script;
extern script const redlock_release_script;

} // namespace fencelock::detail
