// The variable PGOPTIONS, through which a program that knows nothing of fencelock presents a token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fencelock::cli {

/// `inherited` (what PGOPTIONS is now) with the setting fencelock.claims, as libpq's server splits
/// it: words end at white space, a backslash takes the next byte as it is. Claims that `inherited`
/// presents already, as under a run within a run, are kept.
std::string pgoptions_with_claim(std::string_view inherited, std::string_view resource,
                                 std::int64_t token);

} // namespace fencelock::cli
