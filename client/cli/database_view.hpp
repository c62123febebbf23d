// What the database knows of a resource, for show.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "database.hpp"
#include "deadline_watch.hpp"
#include "json.hpp"

namespace fencelock::cli {

struct database_state {
    std::string mark; ///< decimal; empty: none
    bool issues_visible = false;
    std::string issued;
    std::string lease_owner; ///< empty: no lease that runs
    std::string lease_token;
    std::string lease_ms;
};

json_object as_json(database_state const& state);
std::string as_text(database_state const& state);

class database_view {
  public:
    /// Connects. Throws invalid_argument, issuer_unavailable, configuration_error.
    explicit database_view(std::string const& conninfo);

    /// Throws issuer_unavailable, and what libpqxx throws for a refused statement.
    database_state look(std::string const& resource);

    /// All that have a lease which runs. Says so where this role may not see them. Throws as
    /// look().
    std::set<std::string> leased();

    /// False where leased() has left all out.
    bool lists_all() const { return issues_visible_; }

  private:
    pqxx::result ask(std::string const& sql);
    std::string table() const { return session_->schema + ".fence_issuer"; }

    detail::database database_;
    std::unique_ptr<detail::database_session> session_; // its schema is quoted
    detail::deadline_watch watch_;
    bool issues_visible_ = false;
};

} // namespace fencelock::cli
