#include "database_view.hpp"

#include <fencelock/errors.hpp>

#include "messages.hpp"

namespace fencelock::cli {

namespace {

constexpr std::chrono::seconds answer_limit{5};

// Of the lease, where it runs.
std::string running(std::string const& column)
{
    return "CASE WHEN lease_owner IS NOT NULL AND lease_until > pg_catalog.clock_timestamp() "
           "THEN " +
           column + " END";
}

std::string text(pqxx::result const& rows, int column)
{
    return rows[0][column].is_null() ? std::string{} : rows[0][column].as<std::string>();
}

} // namespace

json_object as_json(database_state const& state)
{
    json_object object;
    object.add_number("mark", state.mark);
    if (!state.issues_visible)
        return object;
    object.add_number("issued", state.issued);
    if (state.lease_owner.empty())
        return object.add_null("lease");
    json_object lease;
    lease.add("owner", state.lease_owner);
    lease.add_number("token", state.lease_token);
    lease.add_number("ttl_ms", state.lease_ms);
    return object.add("lease", lease);
}

std::string as_text(database_state const& state)
{
    auto shown = state.mark.empty() ? std::string{"no mark"} : "mark " + state.mark;
    if (!state.issues_visible)
        return shown;
    shown += ", " + (state.issued.empty() ? std::string{"none issued"} : "issued " + state.issued);
    if (state.lease_owner.empty())
        return shown + ", no lease";
    return shown + "; leased to " + state.lease_owner + " with token " + state.lease_token + ", " +
           state.lease_ms + " ms left";
}

database_view::database_view(std::string const& conninfo)
    : database_{conninfo}, session_{database_.take()}
{
    issues_visible_ = ask("SELECT pg_catalog.has_table_privilege(" +
                          session_->connection->quote(table()) + ", 'SELECT')")[0][0]
                          .as<bool>();
}

database_state database_view::look(std::string const& resource)
{
    auto const name = session_->connection->quote(resource);
    database_state state;
    state.mark = text(ask("SELECT " + session_->schema + ".fence_token(" + name + ")"), 0);
    state.issues_visible = issues_visible_;
    if (!issues_visible_)
        return state;
    auto const row =
        ask("SELECT issued, " + running("lease_owner") + ", " + running("lease_token") + ", " +
            running(detail::sql_milliseconds("lease_until - pg_catalog.clock_timestamp()")) +
            " FROM " + table() + " WHERE resource = " + name);
    if (row.empty())
        return state;
    state.issued = text(row, 0);
    state.lease_owner = text(row, 1);
    state.lease_token = text(row, 2);
    state.lease_ms = text(row, 3);
    return state;
}

std::set<std::string> database_view::leased()
{
    std::set<std::string> names;
    if (!issues_visible_) {
        say("leases in PostgreSQL are not listed: this role may not read " + table());
        return names;
    }
    for (auto const& row : ask("SELECT resource FROM " + table() +
                               " WHERE lease_owner IS NOT NULL AND lease_until > "
                               "pg_catalog.clock_timestamp()"))
        names.insert(row[0].as<std::string>());
    return names;
}

pqxx::result database_view::ask(std::string const& sql)
try {
    detail::deadline_watch::scope const watched{watch_, session_->socket.get(),
                                                detail::steady::now() + answer_limit};
    pqxx::nontransaction tx{*session_->connection};
    return tx.exec(sql);
} catch (pqxx::broken_connection const& e) {
    throw issuer_unavailable{std::string{"PostgreSQL: "} + e.what()};
}

} // namespace fencelock::cli
