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

// Whether this, thrown by a COMMIT, is what the server said to it. Else nobody knows yet what
// became of it: the connection broke, or there was no memory for the answer. The server never says
// a thing without an SQLSTATE; 40003 says itself that it isn't known; a server that ends (57P) or a
// connection that does (08) may have come in between.
bool is_answer(std::exception const& e)
{
    if (dynamic_cast<pqxx::in_doubt_error const*>(&e) ||
        dynamic_cast<pqxx::broken_connection const*>(&e))
        return false;
    auto const code = sqlstate_of(e);
    return !code.empty() && code != "40003" && !code.starts_with("57P") && !code.starts_with("08");
}

} // namespace

struct fenced_transaction::state {
    std::vector<detail::lease*> leases; // in the order of their resources, none empty
    isolation level;
    std::unique_ptr<database_session> session; // null where the connection is the caller's
    pqxx::connection* connection = nullptr;
    std::string schema;
    std::optional<pqxx::work> work;
    bool is_suspect = false; // nobody knows what the connection is doing

    state(std::vector<detail::lease*> held, transaction_options const& options)
        : leases{std::move(held)}, level{options.isolation}
    {
        if (leases.empty())
            throw lock_lost{"these handles hold no lock: they were moved from"};
        require_held();
    }

    ~state()
    {
        work.reset(); // rolls back what was not committed
        if (!is_suspect)
            db().give_back(std::move(session));
    }

    database& db() const { return *leases.front()->shared().db; }

    void require_held()
    {
        for (auto* one : leases)
            one->require_held();
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
        schema = db().schema_for(tx);
    }

    // The caller's function has not run yet, so a claim may be repeated.
    void begin()
    {
        for (int tried = 1;; ++tried) {
            require_held();
            if (level != isolation::read_committed)
                for (auto* one : leases)
                    one->confirm(steady::now() + confirm_limit);
            try {
                claim();
                require_held(); // the claim may have waited past the lease
                return;
            } catch (std::exception const& e) {
                work.reset();
                if (!is_conflict(e) || tried == most_claims)
                    throw;
            }
            std::this_thread::sleep_for(pause_before_repeat);
        }
    }

    // One round trip for each lease behind BEGIN, so that a refusal is known to be of that lease.
    // The level is always named: a role or database may have another default.
    void claim()
    {
        work.emplace(*connection);
        auto sql = std::string{"SET TRANSACTION ISOLATION LEVEL "} + name_of(level) + "; ";
        for (auto* one : leases) {
            auto const& id = one->id();
            sql += "SELECT " + schema + ".fence_check(" + work->quote(id.resource) + "," +
                   std::to_string(id.token) + "," + work->quote(id.owner) + ")";
            try {
                work->exec(sql);
            } catch (std::exception const& e) {
                work.reset();
                one->rethrow_refusal(e);
                throw;
            }
            sql.clear();
        }
    }

    // The lease that an error is about, where it is about one.
    held_lease subject() const { return leases.size() == 1 ? leases.front()->id() : held_lease{}; }

    [[noreturn]] void throw_not_written(std::string const& why) const
    {
        auto const about = subject();
        throw issuer_unavailable{"PostgreSQL: the connection ended before the commit, and nothing "
                                 "was written: " +
                                     why,
                                 about.resource, about.token};
    }

    // The commit was not answered. Returns where it took place.
    void settle(std::string const& receipt, std::string const& why)
    {
        auto known = commit_outcome::unknown;
        auto const deadline = steady::now() + leases.front()->shared().options.attempt_timeout;
        try {
            do
                known = db().outcome_of(receipt, deadline);
            while (known == commit_outcome::in_progress && pause_before(deadline));
        } catch (error const&) { // nobody can tell
        }
        if (known == commit_outcome::committed)
            return;
        if (known == commit_outcome::aborted)
            throw_not_written(why);
        auto const about = subject();
        throw outcome_unknown{"the commit of a transaction with " + names() +
                                  " was not answered: " + why + " (to be asked for by receipt " +
                                  receipt + ")",
                              about.resource, about.token, receipt};
    }

    // False where it is too late to ask again.
    static bool pause_before(steady::time_point deadline)
    {
        if (until(deadline) <= pause_before_repeat)
            return false;
        std::this_thread::sleep_for(pause_before_repeat);
        return true;
    }

    std::string names() const
    {
        std::string text;
        for (auto const* one : leases)
            text += (text.empty() ? "token " : ", token ") + std::to_string(one->id().token) +
                    " of resource \"" + one->id().resource + "\"";
        return text;
    }
};

std::vector<lease*> fenced_transaction::usable(std::span<lock> held)
{
    std::vector<lease*> leases;
    for (auto& one : held)
        leases.push_back(&one.usable());
    return leases;
}

fenced_transaction::fenced_transaction(std::span<lock> held, transaction_options const& options)
    : state_{std::make_unique<state>(usable(held), options)}
{
    auto& db = state_->db();
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
        auto const subject = state_->subject();
        throw issuer_unavailable{std::string{"PostgreSQL: "} + e.what(), subject.resource,
                                 subject.token};
    }
}

fenced_transaction::fenced_transaction(std::span<lock> held, pqxx::connection& connection,
                                       transaction_options const& options)
    : state_{std::make_unique<state>(usable(held), options)}
{
    state_->use_callers(connection);
    state_->begin();
}

fenced_transaction::~fenced_transaction() = default;

pqxx::work& fenced_transaction::work()
{
    if (state_->session)
        state_->session->is_used = true;
    return *state_->work;
}

void fenced_transaction::commit()
{
    // COMMIT of an aborted transaction is a ROLLBACK that libpqxx reports as success, so an error
    // that the caller's function swallowed would pass for a commit. This statement fails then.
    std::string receipt;
    try {
        receipt = state_->work->exec("SELECT " + state_->schema + ".fence_receipt()")[0][0].c_str();
    } catch (pqxx::broken_connection const& e) {
        state_->throw_not_written(e.what());
    }
    try {
        state_->work->commit();
    } catch (std::exception const& e) {
        if (is_answer(e))
            throw;
        state_->is_suspect = true;
        state_->settle(receipt, e.what());
    }
}

void fenced_transaction::rethrow()
{
    try {
        throw;
    } catch (stale_token const& e) { // a stamp found a newer holder's row
        for (auto* one : state_->leases)
            if (e.resource() == one->id().resource && e.token() == one->id().token && one->held())
                one->refused(e.mark());
        throw;
    } catch (error const&) {
        throw;
    } catch (std::exception const& e) {
        auto const what = refusal_of(e);
        if (!what)
            throw;
        for (auto* one : state_->leases)
            one->note_refusal(*what);
        throw_refusal(*what);
    }
}

} // namespace fencelock::detail
