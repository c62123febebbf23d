#include "database.hpp"

#include <fcntl.h>

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <fencelock/errors.hpp>

#include "conninfo.hpp"
#include "open_connection.hpp"
#include "refusal.hpp"
#include "unknown_outcome.hpp"

namespace fencelock::detail {

namespace {

constexpr milliseconds pause_before_repeat{20};

// How long after the server's own limit a silent connection is given up.
constexpr milliseconds grace{250};

// How long a new connection's first questions may take, and its last ones. (How long connecting
// may, is connect_timeout: libpq counts it for each host of several, and ignores it where it does
// not connect by itself, so a deadline of ours would be used up by a first host that does not
// answer.)
constexpr milliseconds set_up_limit{2000};

// A reset is much shorter than a transaction: so few keep up with many.
constexpr std::size_t most_resetters = 2;

// What a server's error says. Its time is up (57014) where it waits for somebody: nothing else
// takes so long.
std::string told_by(std::exception const& e, std::string const& resource)
{
    if (sqlstate_of(e) != "57014")
        return "PostgreSQL: " +
               std::string{telling_line(e.what())}.append(remedy_for(sqlstate_of(e)));
    return "PostgreSQL: the request for \"" + resource +
           "\" was still waiting when its time was up, as for an open transaction that has claimed "
           "it with an older token, or issues it: pg_stat_activity shows who is idle in "
           "transaction, and fencelock.preempt_after has such sessions ended";
}

// Throws what a server's error means for a call, or returns where it is worth repeating.
// `unresolved`: an earlier try may have taken effect, whatever this one fails by. (That the token
// is refused is true all the same.)
void judge(std::exception const& e, std::string const& resource, bool unresolved = false)
{
    if (dynamic_cast<std::bad_alloc const*>(&e) || dynamic_cast<error const*>(&e))
        throw; // of the handler that this is called in
    if (auto refused = refusal_of(e)) {
        if (!resource.empty())
            refused->resource = resource;
        throw_refusal(*refused);
    }
    auto const why = told_by(e, resource);
    auto const fault = fault_of(sqlstate_of(e));
    if (unresolved && fault != database_fault::again)
        throw outcome_unknown{why, resource};
    if (dynamic_cast<std::system_error const*>(&e)) // no thread to watch the time
        throw issuer_unavailable{why, resource};
    switch (fault) {
    case database_fault::again:
        return;
    case database_fault::unavailable:
        throw issuer_unavailable{why, resource};
    case database_fault::bad_argument:
        throw invalid_argument{why, resource};
    case database_fault::configuration:
        break;
    }
    if (sqlstate_of(e) == "42501")
        throw configuration_error{
            why + " (a superuser lets a role use fencelock by SELECT fence_grant('role'))",
            resource};
    throw configuration_error{why, resource};
}

bool is_lost_connection(std::exception const& e)
{
    return dynamic_cast<pqxx::broken_connection const*>(&e) ||
           dynamic_cast<pqxx::in_doubt_error const*>(&e);
}

} // namespace

std::string schema_of_extension(pqxx::transaction_base& tx)
{
    auto const found = tx.exec("SELECT pg_catalog.quote_ident(n.nspname)"
                               "  FROM pg_catalog.pg_extension e"
                               "  JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace"
                               " WHERE e.extname = 'fencelock'");
    if (found.empty())
        throw configuration_error{
            "the database \"" +
            tx.exec("SELECT pg_catalog.current_database()")[0][0].as<std::string>() +
            "\" has no extension fencelock: run CREATE EXTENSION fencelock in it, as a superuser"};
    return found[0][0].as<std::string>();
}

database::database(std::optional<std::string> const& conninfo, std::size_t most_idle, bool resets)
    : most_idle_{most_idle}, resets_{resets}, resetters_{most_resetters}
{
    if (conninfo)
        conninfo_ = with_defaults(*conninfo);
}

database::~database()
{
    std::lock_guard const guard{mutex_};
    ending_ = true;
}

std::unique_ptr<database_session> database::take()
{
    if (auto session = take_idle(steady::now() + set_up_limit))
        return session;
    return connect({});
}

std::unique_ptr<database_session>
database::take_new(std::optional<steady::time_point> const deadline)
{
    {
        sessions idle;
        sessions used;
        std::lock_guard const guard{mutex_}; // gone before they are closed
        idle.swap(idle_);
        used.swap(used_);
    }
    return connect(deadline);
}

void database::give_back(std::unique_ptr<database_session> session) noexcept
try {
    if (!session || !session->connection->is_open())
        return;
    session->is_used = session->is_used && resets_;
    bool const is_used = session->is_used;
    {
        std::lock_guard const guard{mutex_};
        if (idle_.size() + used_.size() < most_idle_)
            (is_used ? used_ : idle_).push_back(std::move(session));
    }
    if (is_used)
        resetters_.add([this] { reset_one(); });
} catch (std::exception const&) { // no memory, no thread: closed, or reset by whoever takes it
}

std::vector<std::string>
database::call(std::function<std::string(database_session&)> const& write_sql,
               std::string const& resource, steady::time_point deadline)
{
    bool repeated = false;
    return call(write_sql, resource, deadline, repeated);
}

std::vector<std::string>
database::call(std::function<std::string(database_session&)> const& write_sql,
               std::string const& resource, steady::time_point deadline, bool& unresolved)
{
    unresolved = false;
    std::string why = "PostgreSQL: no answer in time";
    for (auto session = take_idle(deadline);; session.reset()) {
        if (steady::now() >= deadline)
            break;
        try {
            if (!session)
                session = take_new(deadline);
        } catch (issuer_unavailable const& e) {
            if (!unresolved)
                throw;
            why = e.what();
            std::this_thread::sleep_for(pause_before_repeat);
            continue;
        } catch (error const&) {
            rethrow_as_unknown(unresolved, resource);
        }
        try {
            auto row = run(*session, write_sql(*session), deadline);
            give_back(std::move(session));
            return row;
        } catch (std::exception const& e) {
            if (is_lost_connection(e)) {
                unresolved = true;
                why = "PostgreSQL: " + std::string{telling_line(e.what())};
                continue;
            }
            give_back(std::move(session)); // libpqxx has rolled back
            judge(e, resource, unresolved);
        }
        std::this_thread::sleep_for(pause_before_repeat);
    }
    if (unresolved)
        throw outcome_unknown{why, resource};
    throw issuer_unavailable{why, resource};
}

std::string
database::call_in_time(std::function<std::string(database_session&)> const& write_expression,
                       std::string const& resource, steady::time_point deadline)
{
    bool may_be_done = false;
    try {
        return repeat_in_time(write_expression, resource, deadline, may_be_done);
    } catch (error const&) {
        rethrow_as_unknown(may_be_done, resource);
    }
}

std::string
database::repeat_in_time(std::function<std::string(database_session&)> const& write_expression,
                         std::string const& resource, steady::time_point deadline,
                         bool& may_be_done)
{
    for (;;) {
        bool unresolved = false;
        auto const row = call(
            [&](database_session& session) {
                return "SELECT late, ms, CASE WHEN NOT late THEN " + write_expression(session) +
                       " END FROM (SELECT ms, ms >= " + server_time_at(deadline) +
                       " AS late FROM (SELECT " + sql_clock() + " AS ms OFFSET 0) AS c) AS t";
            },
            resource, deadline, unresolved);
        note_server_time(row.at(1));
        if (row.at(0) != "t")
            return row.at(2);
        // Either it is, or its clock was not what we took it for.
        may_be_done = may_be_done || unresolved;
        if (steady::now() < deadline)
            continue;
        throw issuer_unavailable{may_be_done ? "PostgreSQL: a request was not answered in time"
                                             : "PostgreSQL: the request came too late",
                                 resource};
    }
}

commit_outcome database::outcome_of(std::string const& receipt, steady::time_point deadline)
try {
    auto const row = call(
        [&](database_session& session) {
            return "SELECT " + session.schema + ".fence_outcome(" +
                   session.connection->quote(receipt) + ")";
        },
        {}, deadline);
    return row[0] == "committed"     ? commit_outcome::committed
           : row[0] == "aborted"     ? commit_outcome::aborted
           : row[0] == "in progress" ? commit_outcome::in_progress
                                     : commit_outcome::unknown;
} catch (outcome_unknown const& e) { // it was only a question
    throw issuer_unavailable{e.what()};
}

std::string database::history()
{
    {
        std::lock_guard const guard{mutex_};
        if (!history_.empty())
            return history_;
    }
    give_back(take_new());
    std::lock_guard const guard{mutex_};
    return history_;
}

void database::note_history(std::string id)
{
    std::lock_guard const guard{mutex_};
    history_ = std::move(id);
}

// Called with a session at hand, whose making noted the time.
std::string database::server_time_at(steady::time_point when)
{
    std::lock_guard const guard{mutex_};
    return std::to_string(clock_.at(when));
}

void database::note_server_time(std::string const& ms)
{
    std::lock_guard const guard{mutex_};
    clock_.note(std::stoll(ms));
}

std::string database::schema_for(pqxx::transaction_base& tx)
{
    auto key = database_of(tx.conn());
    {
        std::lock_guard const guard{mutex_};
        if (auto const known = foreign_schemas_.find(key); known != foreign_schemas_.end())
            return known->second;
    }
    auto schema = schema_of_extension(tx);
    std::lock_guard const guard{mutex_};
    return foreign_schemas_.insert_or_assign(std::move(key), std::move(schema)).first->second;
}

std::unique_ptr<database_session> database::take_idle(steady::time_point deadline)
{
    std::unique_ptr<database_session> session;
    {
        std::lock_guard const guard{mutex_};
        auto& from = idle_.empty() ? used_ : idle_;
        if (from.empty())
            return nullptr;
        session = std::move(from.back());
        from.pop_back();
    }
    if (session->is_used && !reset(*session, deadline))
        return nullptr;
    return session;
}

// Nothing of one caller's may be met by the next, nor by our own calls. False where it is of no
// more use.
bool database::reset(database_session& session, steady::time_point deadline) noexcept
try {
    deadline_watch::scope const watched{watch_, session.socket.get(), deadline};
    session.is_used = !forget_session_state(*session.connection);
    return !session.is_used;
} catch (std::exception const&) {
    return false;
}

void database::reset_one() noexcept
{
    std::unique_ptr<database_session> session;
    {
        std::lock_guard const guard{mutex_};
        if (ending_ || used_.empty())
            return;
        session = std::move(used_.front());
        used_.erase(used_.begin());
    }
    if (reset(*session, steady::now() + set_up_limit))
        give_back(std::move(session));
}

std::unique_ptr<database_session>
database::connect(std::optional<steady::time_point> const deadline)
try {
    if (!conninfo_)
        throw configuration_error{"this client was made without a database"};
    auto session = std::make_unique<database_session>();
    session->connection =
        open_connection(deadline ? with_connect_limit(*conninfo_, until(*deadline)) : *conninfo_);
    forbid_reconnect(*session->connection);
    session->socket = unique_fd{::fcntl(session->connection->sock(), F_DUPFD_CLOEXEC, 0)};
    deadline_watch::scope const watched{watch_, session->socket.get(),
                                        steady::now() + set_up_limit};
    pqxx::nontransaction tx{*session->connection};
    session->name = database_of(*session->connection);
    session->schema = schema_of_extension(tx);
    auto const known = tx.exec("SELECT " + session->schema + ".fence_history(), " + sql_clock());
    note_history(known[0][0].as<std::string>());
    note_server_time(known[0][1].as<std::string>());
    return session;
} catch (error const&) {
    throw;
} catch (std::exception const& e) {
    if (!is_lost_connection(e))
        judge(e, {});
    throw issuer_unavailable{"PostgreSQL: " + std::string{telling_line(e.what())}};
}

// The server ends the statement at the deadline by itself, so that one that waits for a lock does
// not grant a lease to a caller that has gone. The isolation level is named because a database or
// role may have another default, in which a wait ends in a conflict.
std::vector<std::string> database::run(database_session& session, std::string const& sql,
                                       steady::time_point deadline)
{
    auto const left = std::max(milliseconds{1}, until(deadline));
    deadline_watch::scope const watched{watch_, session.socket.get(), deadline + grace};
    pqxx::nontransaction tx{*session.connection};
    auto const result =
        tx.exec("SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
                "SET LOCAL statement_timeout = " +
                std::to_string(std::min<std::int64_t>(left.count(), 86'400'000)) + ";" + sql);
    std::vector<std::string> row;
    row.reserve(static_cast<std::size_t>(result.columns()));
    for (int i = 0; i < static_cast<int>(result.columns()); ++i)
        row.push_back(result[0][i].is_null() ? std::string{} : result[0][i].as<std::string>());
    return row;
}

} // namespace fencelock::detail
