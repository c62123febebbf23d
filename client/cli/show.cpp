// fencelock show: what Redis and the database know of a resource.
#include <iostream>
#include <optional>
#include <set>

#include <fencelock/errors.hpp>

#include "commands.hpp"
#include "database.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "keys.hpp"
#include "limits.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

namespace {

using detail::redis_reply;

struct redis_state {
    std::optional<std::string> owner; ///< nothing: not held
    std::string token;                ///< decimal; empty where a plain client keeps none here
    std::int64_t ttl_ms = -1;         ///< -1: for ever
    std::string last;                 ///< the last token counted; empty: no counter
    std::string block_end;            ///< empty: plain, or no counter
};

struct database_state {
    std::string mark; ///< decimal; empty: none
    bool issues_visible = false;
    std::string issued;
    std::string lease_owner; ///< empty: no lease that runs
    std::string lease_token;
    std::string lease_ms;
};

redis_state look(redis_look& redis, std::string const& resource, key_preset preset)
{
    auto const keys = detail::keys_of(resource, preset);
    redis_state state;
    redis.go_to_server_of(keys.lock);
    auto const held = redis.need({"GET", keys.lock});
    if (held.type == redis_reply::kind::text) {
        auto const colon = held.text.find(':');
        bool const ours = colon != std::string::npos && colon > 0 &&
                          held.text.find_first_not_of("0123456789") == colon;
        state.owner = ours ? held.text.substr(colon + 1) : held.text;
        state.token = ours ? held.text.substr(0, colon) : std::string{};
        state.ttl_ms = redis.need({"PTTL", keys.lock}).integer;
    }
    redis.go_to_server_of(keys.state);
    if (preset == key_preset::plain) {
        state.last = redis.need({"GET", keys.state}).text;
        return state;
    }
    auto const counter = redis.need({"HMGET", keys.state, "last", "end"});
    state.last = counter.elements.at(0).text;
    state.block_end = counter.elements.at(1).text;
    return state;
}

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

// All that are held at one server, where the key tells the name.
void add_held(std::set<std::string>& names, redis_look& redis, key_preset preset)
{
    std::string cursor = "0";
    do {
        auto const page =
            redis.need({"SCAN", cursor, "MATCH", detail::lock_pattern(preset), "COUNT", "1000"});
        cursor = page.elements.at(0).text;
        for (auto const& key : page.elements.at(1).elements) {
            if (auto const name = detail::resource_of_lock(key.text, preset))
                names.insert(*name);
            else
                std::cerr << "fencelock: held, but too long a name to be read from its key: "
                          << key.text << '\n';
        }
    } while (cursor != "0");
}

std::set<std::string> held_in(redis_look& redis, key_preset preset)
{
    std::set<std::string> names;
    for (auto const& server : redis.servers()) {
        redis.go_to(server);
        add_held(names, redis, preset);
    }
    return names;
}

json_object& add_number(json_object& to, char const* name, std::string const& decimal)
{
    return decimal.empty() ? to.add_null(name) : to.add(name, std::stoll(decimal));
}

json_object as_json(redis_state const& state)
{
    json_object object;
    object.add("held", state.owner.has_value());
    if (state.owner) {
        object.add("owner", *state.owner);
        add_number(object, "token", state.token);
        object.add("ttl_ms", state.ttl_ms);
    }
    add_number(object, "last", state.last);
    return add_number(object, "block_end", state.block_end);
}

json_object as_json(database_state const& state)
{
    json_object object;
    add_number(object, "mark", state.mark);
    if (!state.issues_visible)
        return object;
    add_number(object, "issued", state.issued);
    if (state.lease_owner.empty())
        return object.add_null("lease");
    json_object lease;
    lease.add("owner", state.lease_owner);
    add_number(lease, "token", state.lease_token);
    add_number(lease, "ttl_ms", state.lease_ms);
    return object.add("lease", lease);
}

void print(redis_state const& state)
{
    std::cout << "  redis     ";
    if (!state.owner)
        std::cout << "not held";
    else if (state.token.empty())
        std::cout << "held by " << *state.owner;
    else
        std::cout << "held by " << *state.owner << " with token " << state.token;
    if (state.owner && state.ttl_ms >= 0)
        std::cout << ", " << state.ttl_ms << " ms left";
    else if (state.owner)
        std::cout << ", without a TTL";
    if (!state.last.empty())
        std::cout << "; last token " << state.last;
    if (!state.block_end.empty())
        std::cout << " of a block up to " << state.block_end;
    std::cout << '\n';
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

// One that can be reached.
struct reached_redis : redis_look {
    explicit reached_redis(arguments const& given) : redis_look{given} { go_to(servers().front()); }
};

// Where one server cannot be reached, what the other knows is shown all the same.
template <typename Server, typename... Arguments>
std::unique_ptr<Server> reach(int& code, Arguments const&... arguments)
try {
    return std::make_unique<Server>(arguments...);
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
    std::unique_ptr<redis_look> redis;
    std::unique_ptr<database_view> database;
    if (given.redis)
        redis = reach<reached_redis>(code, given);
    if (given.db)
        database = reach<database_view>(code, *given.db);

    std::set<std::string> names;
    if (given.resource)
        names.insert(*given.resource);
    else if (redis)
        names = held_in(*redis, given.keys);
    if (!given.resource && database)
        names.merge(database->leased());
    for (auto const& name : names) {
        auto const in_redis = redis ? std::optional{look(*redis, name, given.keys)} : std::nullopt;
        auto const in_database = database ? std::optional{database->look(name)} : std::nullopt;
        if (given.json) {
            json_object object;
            object.add("resource", name);
            if (in_redis)
                object.add("redis", as_json(*in_redis));
            if (in_database)
                object.add("database", as_json(*in_database));
            std::cout << object.text() << '\n';
            continue;
        }
        std::cout << name << '\n';
        if (in_redis)
            print(*in_redis);
        if (in_database)
            print(*in_database);
    }
    return code;
}

} // namespace fencelock::cli
