// The variable PGOPTIONS, through which a program that knows nothing of fencelock presents a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fencelock::cli {

/// In bytes. What a connection begins with has at most 10,000 bytes (MAX_STARTUP_PACKET_LENGTH of
/// PostgreSQL's libpq/pqcomm.h), or the server closes it. The rest is for what libpq sends beside
/// the options: user, database, application_name, client_encoding, and what PGDATESTYLE, PGTZ and
/// PGGEQO set, each with its name.
constexpr std::size_t longest_pgoptions = 9'500;

/// `inherited` (what PGOPTIONS is now) with the setting fencelock.claims behind it, as the server
/// splits it: words end at white space, a backslash takes the next byte as it is. Claims that
/// `inherited` presents already, as under a run within a run, are kept, and the settings that this
/// function has written there are replaced by the one with all claims. Every other option stays as
/// it is, byte for byte.
std::string pgoptions_with_claim(std::string_view inherited, std::string_view resource,
                                 std::int64_t token);

} // namespace fencelock::cli
