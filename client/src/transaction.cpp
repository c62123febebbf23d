// Claim, run, commit, and what errors on the way mean.
#include <fencelock/transaction.hpp>

#include <optional>
#include <thread>
#include <utility>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/errors.hpp>
#include <fencelock/lock.hpp>

#include "lease.hpp"

namespace fencelock::detail {

namespace {

// A claim that keeps meeting concurrent transactions is given up after so many tries.
constexpr int most_claims = 20;
constexpr milliseconds pause_before_repeat{10};
constexpr milliseconds confirm_limit{30'000};

char const* name_of(isolation level)
{
    switch (level) {
    case isolation::read_committed:
        return "READ COMMITTED";
    case isolation::repeatable_read:
        return "REPEATABLE READ";
    case isolation::serializable:
        break;
    }
    return "SERIALIZABLE";
}

bool is_conflict(std::exception const& e)
{
    return fault_of(sqlstate_of(e)) == database_fault::again;
}

} // namespace

struct fenced_transaction::state {
    detail::lease& mine;
    isolation level;
    std::unique_ptr<database_session> session; // null where the connection is the caller's
    pqxx::connection* connection = nullptr;
    std::string schema;
    std::optional<pqxx::work> work;

    state(detail::lease& held, transaction_options const& options)
        : mine{held}, level{options.isolation}
    {
        mine.require_held();
    }

    ~state()
    {
        work.reset(); // rolls back what was not committed
        mine.shared().db->give_back(std::move(session));
    }

    void use_own(std::unique_ptr<database_session> own)
    {
        session = std::move(own);
        connection = session->connection.get();
        schema = session->schema;
    }

    void use_callers(pqxx::connection& theirs)
    {
        connection = &theirs;
        pqxx::nontransaction tx{theirs};
        schema = mine.shared().db->schema_for(tx);
    }

    // The caller's function has not run yet, so a claim may be repeated.
    void begin()
    {
        for (int tried = 1;; ++tried) {
            mine.require_held();
            if (level != isolation::read_committed)
                mine.confirm(steady::now() + confirm_limit);
            try {
                claim();
                return;
            } catch (std::exception const& e) {
                work.reset();
                mine.rethrow_refusal(e);
                if (!is_conflict(e) || tried == most_claims)
                    throw;
            }
            std::this_thread::sleep_for(pause_before_repeat);
        }
    }

    // One round trip behind BEGIN. The level is always named: a role or database may have another
    // default.
    void claim()
    {
        auto const& id = mine.id();
        work.emplace(*connection);
        work->exec(std::string{"SET TRANSACTION ISOLATION LEVEL "} + name_of(level) + "; SELECT " +
                   schema + ".fence_check(" + work->quote(id.resource) + "," +
                   std::to_string(id.token) + "," + work->quote(id.owner) + ")");
    }
};

fenced_transaction::fenced_transaction(lock& held, transaction_options const& options)
    : state_{std::make_unique<state>(held.usable(), options)}
{
    auto& db = *state_->mine.shared().db;
    state_->use_own(db.take());
    try {
        state_->begin();
        return;
    } catch (pqxx::broken_connection const&) { // it may have been idle for long: once more
    }
    state_->use_own(db.take_new());
    try {
        state_->begin();
    } catch (pqxx::broken_connection const& e) {
        auto const& id = state_->mine.id();
        throw issuer_unavailable{std::string{"PostgreSQL: "} + e.what(), id.resource, id.token};
    }
}

fenced_transaction::fenced_transaction(lock& held, pqxx::connection& connection,
                                       transaction_options const& options)
    : state_{std::make_unique<state>(held.usable(), options)}
{
    state_->use_callers(connection);
    state_->begin();
}

fenced_transaction::~fenced_transaction() = default;

pqxx::work& fenced_transaction::work()
{
    return *state_->work;
}

void fenced_transaction::commit()
{
    // COMMIT of an aborted transaction is a ROLLBACK that libpqxx reports as success, so an error
    // that the caller's function swallowed would pass for a commit. This statement fails then.
    try {
        state_->work->exec("SELECT 1");
    } catch (pqxx::broken_connection const& e) {
        auto const& id = state_->mine.id();
        throw issuer_unavailable{
            std::string{"PostgreSQL: the connection ended before the commit, and nothing was "
                        "written: "} +
                e.what(),
            id.resource, id.token};
    }
    auto const unknown = [this](std::exception const& e) {
        auto const& id = state_->mine.id();
        return outcome_unknown{"the commit of a transaction with token " +
                                   std::to_string(id.token) + " of resource \"" + id.resource +
                                   "\" was not answered: " + e.what(),
                               id.resource, id.token};
    };
    try {
        state_->work->commit();
    } catch (pqxx::in_doubt_error const& e) {
        throw unknown(e);
    } catch (pqxx::broken_connection const& e) {
        throw unknown(e);
    } catch (pqxx::statement_completion_unknown const& e) {
        throw unknown(e);
    }
}

void fenced_transaction::rethrow()
{
    auto& mine = state_->mine;
    try {
        throw;
    } catch (stale_token const& e) { // a stamp found a newer holder's row
        if (e.resource() == mine.id().resource && e.token() == mine.id().token && mine.held())
            mine.refused(e.mark());
        throw;
    } catch (error const&) {
        throw;
    } catch (std::exception const& e) {
        mine.rethrow_refusal(e, true);
        throw;
    }
}

} // namespace fencelock::detail
