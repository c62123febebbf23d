// All that --redis names, for show.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "json.hpp"
#include "redis_look.hpp"
#include "redis_state.hpp"

namespace fencelock::cli {

/// The Redis that --redis names, or the servers of the Redlock. A server that cannot be reached,
/// now or later, is reported, `code` is set, and it is not asked again.
class redis_view {
  public:
    /// Connects. Throws invalid_argument for URLs that make no Redlock.
    redis_view(arguments const& given, int& code);

    /// All that are held, where the key tells the name.
    std::set<std::string> held();

    /// False where held() has left some out, and said so.
    bool lists_all() const { return lists_all_; }

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
    bool lists_all_ = true;
    std::vector<std::unique_ptr<redis_look>> reached_;
};

} // namespace fencelock::cli
