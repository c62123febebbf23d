// What Redis keeps of a resource, or each server of a Redlock, for show.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

struct redis_state {
    std::optional<std::string> owner; ///< nothing: not held
    std::string token;                ///< decimal; empty where a plain client keeps none here
    std::int64_t ttl_ms = -1;         ///< -1: for ever
    std::string last;                 ///< the last token counted; empty: no counter
    std::string block_end;            ///< empty: plain, or no counter
    std::string trouble;              ///< why some of it cannot be read; empty: it could
};

/// The Redis that --redis names, or the servers of the Redlock. A server that cannot be reached,
/// now or later, is reported, `code` is set, and it is not asked again.
class redis_view {
  public:
    /// Connects. Throws invalid_argument for URLs that make no Redlock.
    redis_view(arguments const& given, int& code);

    /// All that are held, where the key tells the name.
    std::set<std::string> held();

    /// Adds the member "redis" or "redlock", unless no server is left.
    void add_json(json_object& object, std::string const& resource);

    /// The same for people, without line feeds.
    std::vector<std::string> lines_of(std::string const& resource);

  private:
    struct vote {
        std::string place;
        redis_state state;
    };

    template <typename Ask>
    void ask_each(Ask ask);
    bool is_redlock() const { return count_ > 1; }
    std::vector<vote> votes(std::string const& resource);

    /// What a majority of all servers agrees on; nothing where there is none.
    std::optional<redis_state> majority(std::vector<vote> const& votes) const;

    key_preset const keys_;
    std::size_t const count_; // of servers, reached or not
    int& code_;
    std::vector<std::unique_ptr<redis_look>> reached_;
};

} // namespace fencelock::cli
