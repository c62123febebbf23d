// Claim, run, commit, and what errors on the way mean.
#include <fencelock/transaction.hpp>

#include <optional>
#include <thread>
#include <utility>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/errors.hpp>
#include <fencelock/lock.hpp>

#include "lease.hpp"
#include "running_transaction.hpp"
#include "transaction_ending.hpp"

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
    std::string where; // the database, as database_of() names it
    std::string schema;
    std::string receipt; // of the transaction that has claimed
    std::optional<pqxx::work> work;
    std::optional<running_transaction> running; // while the caller's function does
    bool is_suspect = false;                    // nobody knows what the connection is doing

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
        where = session->name;
        schema = session->schema;
        require_none_in_the_way();
    }

    void use_callers(pqxx::connection& theirs)
    {
        connection = &theirs;
        where = database_of(theirs);
        require_none_in_the_way();
        pqxx::nontransaction tx{theirs};
        schema = db().schema_for(tx);
    }

    void require_none_in_the_way() const
    {
        for (auto const* one : leases)
            running_transaction::require_none_in_the_way(one->id(), where);
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
                running.emplace(claimed(), where);
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
                   std::to_string(id.token) + "," + work->quote(id.owner) + "), " + schema +
                   ".fence_receipt()";
            try {
                receipt = work->exec(sql)[0][1].c_str();
            } catch (pqxx::undefined_function const& e) {
                throw configuration_error{
                    std::string{"the extension fencelock in this database is of an earlier version "
                                "than this client needs: run ALTER EXTENSION fencelock UPDATE in "
                                "it, after its files were installed on the server. PostgreSQL: "} +
                        e.what(),
                    id.resource, id.token};
            } catch (std::exception const& e) {
                work.reset();
                one->rethrow_refusal(e);
                throw;
            }
            sql.clear();
        }
    }

    std::vector<held_lease> claimed() const
    {
        std::vector<held_lease> all;
        for (auto const* one : leases)
            all.push_back(one->id());
        return all;
    }

    void note_refusal(error const& e, std::int64_t mark) const
    {
        for (auto* one : leases)
            one->note_refusal(e.resource(), e.token(), mark);
    }

    // The lease that an error is about, where it is about one.
    held_lease subject() const { return leases.size() == 1 ? leases.front()->id() : held_lease{}; }

    [[noreturn]] void throw_not_written(std::string const& why) const
    {
        auto const about = subject();
        throw issuer_unavailable{"PostgreSQL: the connection ended before the commit of the "
                                 "transaction with " +
                                     names() + ", and nothing was written: " + why,
                                 about.resource, about.token};
    }

    // The function has returned.
    void require_unended()
    {
        auto how = ending::none;
        try {
            how = find_ending(*work, schema, receipt);
        } catch (pqxx::broken_connection const& e) {
            throw_not_written(e.what());
        } catch (pqxx::sql_error const&) { // it cannot be asked: is this still the transaction?
            throw_unless_rolled_back(ending::aborted);
            throw;
        }
        if (how == ending::none)
            return;
        throw_unless_rolled_back(how);
        if (!connection->is_open())
            throw_not_written("the function of transaction() returned all the same");
        auto const about = subject();
        throw invalid_argument{
            "the function of transaction() returned although the transaction with " + names() +
                " had been aborted, by abort(), by a commit() that failed, or by an error that it "
                "swallowed: nothing was written. It has to return for a commit, to throw for a "
                "rollback, and to run what may fail in a pqxx::subtransaction",
            about.resource, about.token};
    }

    // The function has thrown, which says that nothing was written. That is so, unless it has ended
    // the transaction before.
    void require_rolled_back()
    {
        running.reset();
        auto how = ending::none;
        try {
            how = find_ending(*work, schema, receipt);
        } catch (pqxx::sql_error const&) {
            how = ending::aborted;
        } catch (std::exception const&) { // a broken connection: there is no more to it
        }
        if (how != ending::none)
            throw_unless_rolled_back(how);
    }

    void throw_unless_rolled_back(ending how)
    {
        is_suspect = true;
        work.reset();
        auto const known = outcome();
        bool const is_done =
            known == commit_outcome::committed || known == commit_outcome::in_progress;
        if (how == ending::aborted && !is_done) {
            is_suspect = false;
            return;
        }
        if (how == ending::committed && known == commit_outcome::aborted)
            return;
        auto const* const fate = known == commit_outcome::committed ? "it was committed"
                                 : known == commit_outcome::aborted
                                     ? "it was rolled back"
                                     : "nobody can tell what became of it";
        throw_unknown(
            "the function of transaction() ended the transaction with " + names() + " by itself: " +
            fate + (how == ending::in_sql ? ", and what followed in SQL was no part of it" : "") +
            ". Do not run it again before looking at the data");
    }

    // What became of the transaction, as far as that can be found out within the attempt timeout.
    commit_outcome outcome()
    {
        auto known = commit_outcome::unknown;
        auto const deadline = steady::now() + leases.front()->shared().options.attempt_timeout;
        try {
            do
                known = db().outcome_of(receipt, deadline);
            while (known == commit_outcome::in_progress && pause_before(deadline));
        } catch (error const&) { // nobody can tell
        }
        return known;
    }

    // The commit was not answered. Returns where it took place.
    void settle(std::string const& why)
    {
        is_suspect = true;
        auto const known = outcome();
        if (known == commit_outcome::aborted)
            throw_not_written(why);
        if (known != commit_outcome::committed)
            throw_unknown("the commit of a transaction with " + names() +
                          " was not answered: " + why);
    }

    [[noreturn]] void throw_unknown(std::string const& what) const
    {
        auto const about = subject();
        throw outcome_unknown{what + " (to be asked for by receipt " + receipt + ")",
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
    state_->running.reset();
    state_->require_unended();
    try {
        state_->work->commit();
    } catch (std::exception const& e) {
        if (is_answer(e))
            throw;
        state_->settle(e.what());
    }
}

void fenced_transaction::rethrow()
{
    if (state_->running)
        state_->require_rolled_back();
    try {
        throw;
    } catch (stale_token const& e) { // this one and the next two are a stamp's, and what it refused
        state_->note_refusal(e, e.mark()); // need not be its own lock's token
        throw;
    } catch (token_conflict const& e) {
        state_->note_refusal(e, 0);
        throw;
    } catch (token_not_issued const& e) {
        state_->note_refusal(e, 0);
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
