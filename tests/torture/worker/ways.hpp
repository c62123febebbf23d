// One transaction of a holder: claim or not, read, decide, write, commit.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <fencelock/fencelock.hpp>
#include <pqxx/pqxx>

#include "history.hpp"
#include "plan.hpp"
#include "tables.hpp"

namespace torture {

// A connection of the worker's own, made anew after an error that it did not survive.
class session {
  public:
    explicit session(std::string conninfo) : conninfo_{std::move(conninfo)} {}

    pqxx::connection& connection(); // throws what libpqxx throws
    void drop() { connection_.reset(); }

    // After an error inside a transaction block.
    void roll_back() noexcept;

  private:
    std::string conninfo_;
    std::unique_ptr<pqxx::connection> connection_;
};

enum class outcome {
    committed,
    rolled_back, // by the worker's own wish
    refused,     // the database did not accept the token, or the handle had ended
    aborted,     // anything else after which nothing was written
    unknown,     // no answer to the commit
};

class transaction_run {
  public:
    // `confirmed`: an earlier claim of this token was committed, so reads are fenced in any way.
    transaction_run(history& log, session& own, transaction_plan const& plan, std::string tx,
                    bool confirmed)
        : log_{log}, own_{own}, plan_{plan}, tx_{std::move(tx)}, confirmed_{confirmed}
    {
    }

    outcome run(fencelock::lock& lock);
    outcome run(fencelock::lock_set& locks, operation_plan const& op);

    // Of a commit whose outcome is unknown; empty where there is none.
    std::string const& receipt() const { return receipt_; }

  private:
    template <typename Act>
    outcome told(Act act);

    void by_client(fencelock::lock& lock);
    void by_plain_sql(fencelock::lock& lock);
    void transfer(fencelock::lock_set& locks, operation_plan const& op);

    void claim_alone(fencelock::lock& lock);
    void present(pqxx::transaction_base& tx, fencelock::lock& lock);
    static void present_by_try(pqxx::transaction_base& tx, fencelock::lock& lock);
    void take_back(pqxx::transaction_base& tx, fencelock::lock& lock);
    void steps(pqxx::transaction_base& tx, fencelock::lock& lock);
    void write(pqxx::transaction_base& tx, fencelock::lock& lock, writer const& by,
               std::string const& table, std::int64_t base);
    void end_block(pqxx::transaction_base& tx);
    void prepare_and_commit(pqxx::transaction_base& tx);
    void tell_place(pqxx::transaction_base& tx);
    void begin_commit();
    bool may_be_committed(std::exception const& e, std::string const& sqlstate) const;

    event about(std::string_view kind) const { return event{kind}.add("tx", tx_); }

    history& log_;
    session& own_;
    transaction_plan const& plan_;
    std::string tx_;
    bool confirmed_;
    bool committing_ = false;
    bool prepared_ = false;
    std::string receipt_;
};

} // namespace torture
