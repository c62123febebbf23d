// The command line and the environment, as values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fencelock/redis_locks.hpp>

#include "command.hpp"

namespace fencelock::cli {

/// The command line is wrong; the message says what.
class usage_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct arguments {
    std::vector<std::string> redis; ///< URLs; several are a Redlock
    std::optional<std::string> db;  ///< connection string
    key_preset keys = key_preset::tagged;
    bool json = false;

    bool help = false; ///< of the command, or of the program where there is none
    bool version = false;
    std::optional<cli::command> command;

    std::optional<std::string> resource;
    std::string owner; ///< empty: a new one
    std::int64_t token = 0;
    std::chrono::milliseconds ttl{std::chrono::seconds{30}};
    std::chrono::milliseconds wait{0};
    bool confirm = true;
    std::vector<std::string> program; ///< of run
};

/// Options override FENCELOCK_REDIS, where spaces stand between several URLs, FENCELOCK_DB and
/// FENCELOCK_KEYS; an empty variable counts as unset. For help and version none of them is read.
/// Throws usage_error.
arguments parse_arguments(std::vector<std::string> const& words);

/// `500ms`, `30s`, `5m`, `2h`, `1d`, or `0`; at most a year. Throws usage_error; `option` is for
/// its message.
std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option);

} // namespace fencelock::cli
