// The settings of fencelock. One home for their names, defaults and checks.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Once, when the module is loaded.
void define_settings();

// fencelock.enforce: whether refused tokens are errors, warnings, or nothing that a guard looks at.
enum class enforcement : uint8 { on, warn, off };
enforcement current_enforcement();

// fencelock.preempt_after in milliseconds, 0 where it is off.
int preempt_after();

// The token that the setting fencelock.claims presents for the resource, no_token where it names
// none.
token token_in_claims_setting(std::string_view resource);

} // namespace fencelock
