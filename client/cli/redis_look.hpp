// A look at Redis, for show and doctor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "arguments.hpp"
#include "redis_pool.hpp"

namespace fencelock::cli {

class redis_look {
  public:
    /// Connects to nothing yet. Throws invalid_argument, configuration_error.
    redis_look(std::string const& url, key_preset keys);

    detail::redis_target const& target() const noexcept { return target_; }

    /// All servers that keep locks: one, or the primaries of a cluster. Throws issuer_unavailable,
    /// configuration_error.
    std::vector<detail::redis_address> servers();

    /// From here on, this one is asked, or the one that keeps this key. Throws as servers().
    void go_to(detail::redis_address const& server);
    void go_to_server_of(std::string const& key);

    bool is_connected() const noexcept { return link_ != nullptr; }

    /// The reply, be it an error. Throws issuer_unavailable.
    detail::redis_reply ask(std::vector<std::string> const& words);

    /// The reply, but an error is thrown, as configuration_error or issuer_unavailable.
    detail::redis_reply need(std::vector<std::string> const& words);

    /// Calls `see` with each key of this server that matches, some of them perhaps more than once.
    /// Throws as need().
    void scan(std::string const& pattern, std::function<void(std::string const&)> const& see);

    /// A section of INFO; nothing where this user may not see it.
    std::optional<std::string> info(std::string const& section);

    /// A setting; nothing where this user may not see it.
    std::optional<std::string> setting(std::string const& name);

    std::string place() const { return pool_->place(); }

  private:
    template <typename Find>
    std::invoke_result_t<Find, detail::steady::time_point> found(std::string const& where,
                                                                 Find find);

    detail::redis_target const target_;
    std::shared_ptr<detail::redis_pool> const pool_;
    std::unique_ptr<detail::redis_link> link_;
};

/// The value of `name:value` in what INFO says; empty where there is none.
std::string value_in(std::string_view info, std::string_view name);

} // namespace fencelock::cli
