// Connections to the database that has the fencelock extension, and calls of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/transaction.hpp>

#include "clock.hpp"
#include "deadline_watch.hpp"
#include "unique_fd.hpp"
#include "worker_pool.hpp"

namespace fencelock::detail {

/// One connection of ours. Broken, it is thrown away and another one made.
struct database_session {
    std::unique_ptr<pqxx::connection> connection;
    unique_fd socket;   ///< a duplicate, for deadline_watch
    std::string name;   ///< of the database, as database_of() gives it
    std::string schema; ///< of the extension, quoted

    /// Code of a caller's has run in it, and may have left settings, another role, temporary
    /// tables, prepared statements, advisory locks.
    bool is_used = false;
};

/// The extension's schema in the database that `tx` is in, quoted. Throws configuration_error where
/// it is not installed.
std::string schema_of_extension(pqxx::transaction_base& tx);

/// Thread-safe: every call and every transaction has a session to itself.
class database {
  public:
    /// Without `conninfo`, what needs a connection throws configuration_error. So many sessions are
    /// kept that nobody uses as `most_idle` says. `resets`: what callers leave in them is reset.
    explicit database(std::optional<std::string> const& conninfo, std::size_t most_idle = 8,
                      bool resets = true);
    ~database();
    database(database const&) = delete;
    database& operator=(database const&) = delete;

    /// An idle session, in which nothing is left of whoever used it before, or a new one. Throws
    /// issuer_unavailable or configuration_error.
    std::unique_ptr<database_session> take();

    /// A new one, after an idle one turned out to be broken: so may be all that were made before.
    /// Where there is a deadline, it is connected to by then as far as libpq can be told: to each
    /// host of several for no longer than that is away, or for 2 s.
    std::unique_ptr<database_session> take_new(std::optional<steady::time_point> deadline = {});

    /// Takes back a session that is in no transaction; throws it away where it is broken. What is
    /// left in one that was used is reset in the background: nobody waits for it, unless nothing
    /// else is there to be taken.
    void give_back(std::unique_ptr<database_session> session) noexcept;

    /// Runs one statement in a transaction of its own, committed when this returns, and repeats it
    /// through lost connections and conflicts until the deadline: it must be harmless to run twice.
    /// `write_sql` gets a session to quote with, and its schema. The first row is returned as text,
    /// NULL as "". `resource` is for errors. Throws issuer_unavailable, outcome_unknown,
    /// invalid_argument, configuration_error, and what throw_refusal throws.
    std::vector<std::string> call(std::function<std::string(database_session&)> const& write_sql,
                                  std::string const& resource, steady::time_point deadline);

    /// The same; `unresolved` tells whether an earlier try, which was not answered, may have taken
    /// effect.
    std::vector<std::string> call(std::function<std::string(database_session&)> const& write_sql,
                                  std::string const& resource, steady::time_point deadline,
                                  bool& unresolved);

    /// The value of an expression, "" for NULL, as call(); but a request that the server executes
    /// after the deadline, by then unexpected, does nothing.
    std::string call_in_time(std::function<std::string(database_session&)> const& write_expression,
                             std::string const& resource, steady::time_point deadline);

    /// What became of the transaction with this receipt, by now. Throws as call(), but never
    /// outcome_unknown.
    commit_outcome outcome_of(std::string const& receipt, steady::time_point deadline);

    /// The history id of the database, as of the newest session.
    std::string history();

    /// A block was returned with this history id.
    void note_history(std::string id);

    /// The extension's schema where `tx` is, a connection of the caller's; asked once per database.
    std::string schema_for(pqxx::transaction_base& tx);

  private:
    using sessions = std::vector<std::unique_ptr<database_session>>;

    std::unique_ptr<database_session> connect(std::optional<steady::time_point> deadline);
    std::unique_ptr<database_session> take_idle(steady::time_point deadline);
    std::string
    repeat_in_time(std::function<std::string(database_session&)> const& write_expression,
                   std::string const& resource, steady::time_point deadline, bool& may_be_done);
    bool reset(database_session& session, steady::time_point deadline) noexcept;
    void reset_one() noexcept;
    std::vector<std::string> run(database_session& session, std::string const& sql,
                                 steady::time_point deadline);
    std::string server_time_at(steady::time_point when);
    void note_server_time(std::string const& ms);

    std::optional<std::string> conninfo_; // complete
    std::size_t const most_idle_;
    bool const resets_;
    deadline_watch watch_;
    std::mutex mutex_;
    sessions idle_;
    sessions used_; // idle as well, to be reset
    bool ending_ = false;
    std::string history_;
    server_clock clock_;
    std::map<std::string, std::string> foreign_schemas_;

    worker_pool resetters_; // last: its jobs use the rest
};

} // namespace fencelock::detail
