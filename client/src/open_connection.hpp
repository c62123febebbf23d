// Connecting to PostgreSQL, and why that fails.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fencelock/detail/pqxx_compat.hpp>

namespace fencelock::detail {

/// `complete` as with_defaults() returned it. Throws configuration_error where the server refuses
/// for a reason that trying again does not cure (no such database, a wrong password, an option that
/// it does not know), else issuer_unavailable.
std::unique_ptr<pqxx::connection> open_connection(std::string const& complete);

/// The line of libpq's message that the server itself has said, where there is one, else the first.
std::string_view telling_line(std::string_view message);

} // namespace fencelock::detail
