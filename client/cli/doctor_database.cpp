// What doctor finds in a database and on its server.
#include <fcntl.h>

#include <memory>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/errors.hpp>
#include <fencelock/version.hpp>

#include "clock.hpp"
#include "conninfo.hpp"
#include "deadline_watch.hpp"
#include "doctor.hpp"
#include "open_connection.hpp"
#include "unique_fd.hpp"

namespace fencelock::cli {

namespace {

// Behind the limit that the server has itself: it does not answer at all.
constexpr std::chrono::seconds silence_limit{15};

class database_look {
  public:
    explicit database_look(std::string const& conninfo)
        : connection_{detail::open_connection(detail::with_defaults(conninfo))},
          socket_{::fcntl(connection_->sock(), F_DUPFD_CLOEXEC, 0)}
    {
        detail::forbid_reconnect(*connection_);
        ask("SET statement_timeout = '10s'");
    }

    pqxx::result ask(std::string const& sql)
    try {
        detail::deadline_watch::scope const watched{watch_, socket_.get(),
                                                    detail::steady::now() + silence_limit};
        pqxx::nontransaction tx{*connection_};
        return tx.exec(sql);
    } catch (pqxx::broken_connection const& e) {
        throw issuer_unavailable{std::string{"PostgreSQL: "} + e.what()};
    }

    std::string text(std::string const& sql) { return ask(sql)[0][0].as<std::string>(); }
    bool is(std::string const& condition) { return text("SELECT " + condition) == "t"; }

  private:
    std::unique_ptr<pqxx::connection> const connection_;
    detail::unique_fd const socket_; // a duplicate, for watch_
    detail::deadline_watch watch_;
};

// What undoes a setting that makes every transaction read-only, by where pg_settings says that its
// value comes from. SQL that writes says that it does, for it may be run where the setting holds.
std::string remedy_for(std::string const& source, std::string const& setting,
                       database_look& database)
{
    auto const role = "ALTER ROLE " + database.text("SELECT pg_catalog.quote_ident(session_user)");
    auto const here = database.text("SELECT pg_catalog.quote_ident(current_database())");
    auto const writing = [](std::string const& statement) {
        return "BEGIN READ WRITE; " + statement + "; COMMIT";
    };
    if (source == "user")
        return writing(role + " RESET " + setting);
    if (source == "global")
        return writing("ALTER ROLE ALL RESET " + setting);
    if (source == "database")
        return writing("ALTER DATABASE " + here + " RESET " + setting);
    if (source == "database user")
        return writing(role + " IN DATABASE " + here + " RESET " + setting);
    if (source == "command line")
        return "take it out of the options that the server is started with, and restart it";
    if (source == "client")
        return "take it out of PGOPTIONS, and out of the options of the connection string";
    return "ALTER SYSTEM SET " + setting + " = off, and reload; or set it off for this role: " +
           writing(role + " SET " + setting + " = off");
}

// Checks and issues are writes.
void check_writable(findings& found, database_look& database)
{
    if (database.is("pg_catalog.pg_is_in_recovery()"))
        found.add("this server is a standby: it accepts no token", "connect to its primary");
    std::string const setting = "default_transaction_read_only";
    auto const row = database.ask("SELECT source FROM pg_catalog.pg_settings WHERE name = '" +
                                  setting + "' AND setting = 'on'");
    if (row.empty())
        return;
    auto const source = row[0][0].as<std::string>();
    found.add(setting + " is on (" + source + "): no token is accepted, issued or leased",
              remedy_for(source, setting, database));
}

void check_server(findings& found, database_look& database)
{
    for (std::string const name : {"fsync", "full_page_writes"})
        if (!database.is("pg_catalog.current_setting('" + name + "')::boolean"))
            found.add(name + " is off: a crash may lose marks and issued tokens",
                      "set " + name + " = on");
    auto const before = local_ms();
    auto const server = std::stoll(database.text("SELECT " + detail::sql_clock()));
    compare_clocks(found, server, before, local_ms());
}

// The schema, quoted; empty where there is no extension.
std::string check_extension(findings& found, database_look& database)
{
    auto const row = database.ask(
        "SELECT pg_catalog.quote_ident(n.nspname), e.extversion FROM pg_catalog.pg_extension e "
        "JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'fencelock'");
    if (row.empty()) {
        found.add("this database has no extension fencelock",
                  "CREATE EXTENSION fencelock, as a superuser");
        return {};
    }
    auto const installed = row[0][1].as<std::string>();
    if (installed != version())
        found.add("the extension here is version " + installed + ", this program " + version(),
                  "bring both to one version; after `make install` on the server: ALTER EXTENSION "
                  "fencelock UPDATE");
    return row[0][0].as<std::string>();
}

void check_rights(findings& found, database_look& database, std::string const& schema)
{
    std::string missing;
    for (std::string const function :
         {"fence_check(text,bigint,text)", "fence_issue(text,bigint,bigint,text)",
          "fence_acquire(text,text,interval)", "fence_renew(text,text,bigint,interval)",
          "fence_release(text,text,bigint)", "fence_history()", "fence_token(text)"})
        if (!database.is("pg_catalog.has_function_privilege(p.oid, 'EXECUTE') AND "
                         "pg_catalog.has_schema_privilege(p.pronamespace, 'USAGE') "
                         "FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n "
                         "ON n.oid = p.pronamespace WHERE pg_catalog.quote_ident(n.nspname) = $q$" +
                         schema +
                         "$q$ AND p.proname || '(' || pg_catalog.replace("
                         "pg_catalog.oidvectortypes(p.proargtypes), ', ', ',') || ')' = '" +
                         function + "'"))
            missing.append(missing.empty() ? "" : ", ").append(function);
    if (!missing.empty())
        found.add("role " + database.text("SELECT pg_catalog.quote_ident(current_user)") +
                      " may not execute " + missing,
                  "SELECT " + schema + ".fence_grant('" +
                      database.text("SELECT pg_catalog.quote_ident(current_user)") +
                      "'), as a superuser");
}

void check_audit(findings& found, database_look& database, std::string const& schema)
try {
    for (auto const& row :
         database.ask("SELECT target, finding, remedy FROM " + schema + ".fence_audit()")) {
        auto const target =
            row[0].is_null() ? std::string{} : "table " + row[0].as<std::string>() + ": ";
        found.add(target + row[1].as<std::string>(), row[2].as<std::string>());
    }
} catch (pqxx::sql_error const& e) {
    auto const code = detail::sqlstate_of(e);
    if (code == "42501")
        found.not_checked("the guards (this role may not execute fence_audit())");
    else if (code != "42883") // an old version has none, which is told
        throw;
}

// Whoever gets a connection that presents tokens writes under somebody else's lock.
void check_claims(findings& found, database_look& database)
{
    if (database.is("coalesce(pg_catalog.current_setting('fencelock.claims', true), '') "
                    "NOT IN ('', '{}')"))
        found.add("new connections present tokens already (fencelock.claims): it is set for the "
                  "role, the database or in PGOPTIONS, or a pooler keeps what a client has SET",
                  "set it by SET LOCAL only, in each transaction; RESET fencelock.claims");
}

// Pruning leaves one floor for all resources, above which plain counters do not know to begin.
void check_plain(findings& found, database_look& database, std::string const& schema)
try {
    if (!database.ask("SELECT 1 FROM " + schema + ".fence_issuer LIMIT 1").empty())
        found.add("this database also issues tokens by itself: fence_prune would make it refuse "
                  "the counters of new resources with plain keys",
                  "do not call fence_prune here");
} catch (pqxx::sql_error const& e) {
    if (detail::sqlstate_of(e) != "42501")
        throw;
    found.not_checked("whether the database issues tokens by itself (this role may not read "
                      "fence_issuer)");
}

} // namespace

void examine_database(arguments const& given, std::vector<finding>& all)
{
    findings found{all, "database"};
    database_look database{*given.db};
    check_writable(found, database);
    check_server(found, database);
    check_claims(found, database);
    auto const schema = check_extension(found, database);
    if (!schema.empty()) {
        check_rights(found, database, schema);
        check_audit(found, database, schema);
        if (given.keys == key_preset::plain)
            check_plain(found, database, schema);
    }
}

} // namespace fencelock::cli
