// fencelock show: what Redis and the database know of a resource.
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include <fencelock/errors.hpp>

#include "commands.hpp"
#include "database.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "limits.hpp"
#include "redis_state.hpp"

namespace fencelock::cli {

namespace {

struct database_state {
    std::string mark; ///< decimal; empty: none
    bool issues_visible = false;
    std::string issued;
    std::string lease_owner; ///< empty: no lease that runs
    std::string lease_token;
    std::string lease_ms;
};

// Of database::session, whose schema is quoted.
class database_view {
  public:
    explicit database_view(std::string const& conninfo)
        : database_{conninfo}, session_{database_.take()}
    {
        issues_visible_ =
            ask("SELECT pg_catalog.has_table_privilege('" + literal(table()) + "', 'SELECT')")[0][0]
                .as<bool>();
    }

    database_state look(std::string const& resource)
    {
        auto const name = session_->connection->quote(resource);
        database_state state;
        state.mark = text(ask("SELECT " + session_->schema + ".fence_token(" + name + ")"), 0);
        state.issues_visible = issues_visible_;
        if (!issues_visible_)
            return state;
        auto const row =
            ask("SELECT issued, " + running("lease_owner") + ", " + running("lease_token") + ", " +
                running("(1000 * extract(epoch FROM lease_until - clock_timestamp()))::bigint") +
                " FROM " + table() + " WHERE resource = " + name);
        if (row.empty())
            return state;
        state.issued = text(row, 0);
        state.lease_owner = text(row, 1);
        state.lease_token = text(row, 2);
        state.lease_ms = text(row, 3);
        return state;
    }

    std::set<std::string> leased()
    {
        std::set<std::string> names;
        if (!issues_visible_) {
            std::cerr << "fencelock: leases in PostgreSQL are not listed: this role may not read "
                      << table() << '\n';
            return names;
        }
        for (auto const& row : ask("SELECT resource FROM " + table() +
                                   " WHERE lease_owner IS NOT NULL AND lease_until > "
                                   "clock_timestamp()"))
            names.insert(row[0].as<std::string>());
        return names;
    }

  private:
    pqxx::result ask(std::string const& sql)
    {
        pqxx::nontransaction tx{*session_->connection};
        return tx.exec(sql);
    }

    std::string table() const { return session_->schema + ".fence_issuer"; }

    static std::string literal(std::string const& text)
    {
        std::string doubled;
        for (char const c : text)
            doubled += c == '\'' ? "''" : std::string{c};
        return doubled;
    }

    static std::string running(std::string const& column)
    {
        return "CASE WHEN lease_owner IS NOT NULL AND lease_until > clock_timestamp() THEN " +
               column + " END";
    }

    static std::string text(pqxx::result const& rows, int column)
    {
        return rows[0][column].is_null() ? std::string{} : rows[0][column].as<std::string>();
    }

    detail::database database_;
    std::unique_ptr<detail::database_session> session_;
    bool issues_visible_ = false;
};

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

void print(database_state const& state)
{
    std::cout << "  database  " << (state.mark.empty() ? "no mark" : "mark " + state.mark);
    if (state.issues_visible) {
        std::cout << ", " << (state.issued.empty() ? "none issued" : "issued " + state.issued);
        if (state.lease_owner.empty())
            std::cout << ", no lease";
        else
            std::cout << "; leased to " << state.lease_owner << " with token " << state.lease_token
                      << ", " << state.lease_ms << " ms left";
    }
    std::cout << '\n';
}

// Where one server cannot be reached, what the other knows is shown all the same.
template <typename Server, typename... Arguments>
std::unique_ptr<Server> reach(int& code, Arguments&&... arguments)
try {
    return std::make_unique<Server>(std::forward<Arguments>(arguments)...);
} catch (issuer_unavailable const& e) {
    code = report(e);
    return nullptr;
}

} // namespace

int show(arguments const& given)
{
    if (given.resource)
        detail::check_resource(*given.resource);
    int code = success;
    std::unique_ptr<redis_view> redis;
    std::unique_ptr<database_view> database;
    if (!given.redis.empty())
        redis = reach<redis_view>(code, given, code);
    if (given.db)
        database = reach<database_view>(code, *given.db);

    std::set<std::string> names;
    if (given.resource)
        names.insert(*given.resource);
    else if (redis)
        names = redis->held();
    if (!given.resource && database)
        names.merge(database->leased());
    for (auto const& name : names) {
        auto const in_database = database ? std::optional{database->look(name)} : std::nullopt;
        if (given.json) {
            json_object object;
            object.add("resource", name);
            if (redis)
                redis->add_json(object, name);
            if (in_database)
                object.add("database", as_json(*in_database));
            std::cout << object.text() << '\n';
            continue;
        }
        std::cout << name << '\n';
        if (redis)
            redis->print(name);
        if (in_database)
            print(*in_database);
    }
    return code;
}

} // namespace fencelock::cli
