#include "ways.hpp"

#include <thread>
#include <utility>
#include <vector>

#include <fencelock/detail/pqxx_compat.hpp>

namespace torture {

namespace {

// The worker's own wish to roll back.
struct rolled_back_on_purpose {};

// fence_try said no.
struct refused_by_try {};

fencelock::isolation isolation_of(level l)
{
    switch (l) {
    case level::read_committed:
        return fencelock::isolation::read_committed;
    case level::repeatable_read:
        return fencelock::isolation::repeatable_read;
    case level::serializable:
        break;
    }
    return fencelock::isolation::serializable;
}

bool is_claimed(way how)
{
    return how != way::stamp && how != way::stamp_sql && how != way::setting &&
           how != way::unfenced;
}

bool is_lost_connection(std::exception const& e)
{
    return dynamic_cast<pqxx::broken_connection const*>(&e) ||
           dynamic_cast<pqxx::in_doubt_error const*>(&e);
}

std::string arguments(pqxx::transaction_base& tx, fencelock::lock const& lock)
{
    return "(" + tx.quote(lock.resource()) + "," + std::to_string(lock.token()) + ")";
}

} // namespace

pqxx::connection& session::connection()
{
    if (!connection_) {
        connection_ = std::make_unique<pqxx::connection>(conninfo_);
        fencelock::detail::forbid_reconnect(*connection_);
    }
    return *connection_;
}

void session::roll_back() noexcept
try {
    if (connection_)
        pqxx::nontransaction{*connection_}.exec("ROLLBACK");
} catch (...) {
    drop();
}

outcome transaction_run::run(fencelock::lock& lock)
{
    log_.write(about("begin")
                   .add("way", name_of(plan_.how))
                   .add("isolation", name_of(plan_.isolation))
                   .add("resource", lock.resource())
                   .add("token", lock.token())
                   .add("fenced", is_claimed(plan_.how) || confirmed_));
    return told([&] {
        if (plan_.how == way::transaction || plan_.how == way::transaction_own)
            by_client(lock);
        else
            by_plain_sql(lock);
    });
}

outcome transaction_run::run(fencelock::lock_set& locks, operation_plan const& op)
{
    log_.write(about("begin")
                   .add("way", name_of(way::transfer))
                   .add("isolation", name_of(plan_.isolation))
                   .add("resource", op.resource)
                   .add("token", locks.token(op.resource))
                   .add("other", op.other)
                   .add("other_token", locks.token(op.other))
                   .add("fenced", true));
    return told([&] { transfer(locks, op); });
}

// What came of it, written down.
template <typename Act>
outcome transaction_run::told(Act act)
{
    auto const tell = [&](outcome what, char const* as, char const* error, std::exception const& e,
                          std::string const& sqlstate = {}) {
        log_.write(about(as).add("error", error).add("sqlstate", sqlstate).add("what", e.what()));
        return what;
    };
    try {
        act();
        log_.write(about("committed"));
        return outcome::committed;
    } catch (rolled_back_on_purpose const&) {
        own_.roll_back();
        log_.write(about("rolled_back"));
        return outcome::rolled_back;
    } catch (refused_by_try const&) {
        own_.roll_back();
        log_.write(about("refused").add("error", "fence_try"));
        return outcome::refused;
    } catch (fencelock::stale_token const& e) {
        own_.roll_back();
        return tell(outcome::refused, "refused", "stale_token", e);
    } catch (fencelock::token_conflict const& e) {
        own_.roll_back();
        return tell(outcome::refused, "refused", "token_conflict", e);
    } catch (fencelock::token_not_issued const& e) {
        own_.roll_back();
        return tell(outcome::refused, "refused", "token_not_issued", e);
    } catch (fencelock::token_required const& e) {
        own_.roll_back();
        return tell(outcome::refused, "refused", "token_required", e);
    } catch (fencelock::lock_lost const& e) {
        own_.roll_back();
        return tell(outcome::refused, "refused", "lock_lost", e);
    } catch (fencelock::outcome_unknown const& e) {
        own_.drop();
        receipt_ = e.receipt();
        bool const sent = committing_; // a claim alone may be in doubt as well: then nothing was
        return sent ? tell(outcome::unknown, "unknown", "outcome_unknown", e)
                    : tell(outcome::aborted, "aborted", "outcome_unknown", e);
    } catch (fencelock::issuer_unavailable const& e) {
        own_.roll_back();
        return tell(outcome::aborted, "aborted", "issuer_unavailable", e);
    } catch (fencelock::error const& e) {
        own_.roll_back();
        return tell(outcome::aborted, "aborted", "other", e);
    } catch (std::exception const& e) {
        auto const code = fencelock::detail::sqlstate_of(e);
        if (may_be_committed(e, code)) {
            own_.drop();
            return tell(outcome::unknown, "unknown", "connection", e, code);
        }
        if (code.starts_with("LF")) {
            own_.roll_back();
            return tell(outcome::refused, "refused", "sql", e, code);
        }
        own_.roll_back();
        return tell(outcome::aborted, "aborted", is_lost_connection(e) ? "connection" : "sql", e,
                    code);
    }
}

void transaction_run::by_client(fencelock::lock& lock)
{
    auto const work = [&](pqxx::work& tx) {
        steps(tx, lock);
        if (plan_.rolled_back)
            throw rolled_back_on_purpose{};
        begin_commit();
    };
    fencelock::transaction_options const how{isolation_of(plan_.isolation)};
    if (plan_.how == way::transaction)
        lock.transaction(work, how);
    else
        lock.transaction(own_.connection(), work, how);
}

// On the worker's connection, with BEGIN and COMMIT of its own.
void transaction_run::by_plain_sql(fencelock::lock& lock)
{
    if (plan_.isolation != level::read_committed && is_claimed(plan_.how))
        claim_alone(lock);
    pqxx::nontransaction tx{own_.connection()};
    tx.exec("BEGIN ISOLATION LEVEL " + std::string{name_of(plan_.isolation)});
    present(tx, lock);
    steps(tx, lock);
    end_block(tx);
}

void transaction_run::transfer(fencelock::lock_set& locks, operation_plan const& op)
{
    auto const work = [&](pqxx::work& tx) {
        tell_place(tx);
        std::this_thread::sleep_for(plan_.before_read);
        std::vector<writer> const sides{{tx_, op.resource, locks.token(op.resource)},
                                        {tx_, op.other, locks.token(op.other)}};
        std::vector<std::int64_t> amounts;
        for (auto const& side : sides) {
            amounts.push_back(read_value(tx, "purse", side.resource));
            log_.write(about("read")
                           .add("table", "purse")
                           .add("resource", side.resource)
                           .add("value", amounts.back()));
        }
        std::this_thread::sleep_for(plan_.before_write);
        std::int64_t const moved = 1 + amounts[0] % 7;
        for (std::size_t i = 0; i < sides.size(); ++i) {
            auto const value = amounts[i] + (i == 0 ? -moved : moved);
            log_.write(about("write")
                           .add("table", "purse")
                           .add("resource", sides[i].resource)
                           .add("value", value));
            auto const rows = write_value(tx, sides[i], "purse", value);
            log_.write(about("wrote").add("rows", static_cast<std::int64_t>(rows)));
        }
        std::this_thread::sleep_for(plan_.before_commit);
        if (plan_.rolled_back)
            throw rolled_back_on_purpose{};
        begin_commit();
    };
    locks.transaction(work, {isolation_of(plan_.isolation)});
}

// In these levels a claim in the reading transaction needs one before it.
void transaction_run::claim_alone(fencelock::lock& lock)
{
    if (plan_.how == way::claim) {
        lock.confirm(std::chrono::seconds{4});
        return;
    }
    pqxx::nontransaction tx{own_.connection()};
    tx.exec("SELECT fence_check" + arguments(tx, lock));
}

void transaction_run::present(pqxx::transaction_base& tx, fencelock::lock& lock)
{
    switch (plan_.how) {
    case way::claim:
        return lock.claim(tx);
    case way::check:
    case way::two_phase:
        tx.exec("SELECT fence_check" + arguments(tx, lock));
        return;
    case way::check_by_try:
        return present_by_try(tx, lock);
    case way::savepoint:
        return take_back(tx, lock);
    case way::setting:
        tx.exec("SET LOCAL fencelock.claims = '{\"" + lock.resource() +
                "\": " + std::to_string(lock.token()) + "}'");
        return;
    default: // stamps come with the statements
        return;
    }
}

void transaction_run::present_by_try(pqxx::transaction_base& tx, fencelock::lock& lock)
{
    if (!tx.exec("SELECT fence_try" + arguments(tx, lock))[0][0].as<bool>())
        throw refused_by_try{};
}

// A claim, and a write with it, that end with their savepoint; then a claim that stays.
void transaction_run::take_back(pqxx::transaction_base& tx, fencelock::lock& lock)
{
    writer const by{tx_ + ".taken_back", lock.resource(), lock.token()};
    tx.exec("SAVEPOINT before");
    tx.exec("SELECT fence_check" + arguments(tx, lock));
    write_value(tx, by, plan_.tables.front(), -1);
    tx.exec("ROLLBACK TO before");
    tx.exec("SELECT fence_check" + arguments(tx, lock));
}

void transaction_run::steps(pqxx::transaction_base& tx, fencelock::lock& lock)
{
    tell_place(tx);
    std::this_thread::sleep_for(plan_.before_read);
    std::vector<std::int64_t> values;
    for (auto const& table : plan_.tables) {
        values.push_back(read_value(tx, table, lock.resource()));
        log_.write(about("read").add("table", table).add("value", values.back()));
    }
    std::this_thread::sleep_for(plan_.before_write);
    writer const by{tx_, lock.resource(), lock.token()};
    for (std::size_t i = 0; i < values.size(); ++i)
        write(tx, lock, by, plan_.tables[i], values[i]);
    std::this_thread::sleep_for(plan_.before_commit);
}

void transaction_run::write(pqxx::transaction_base& tx, fencelock::lock& lock, writer const& by,
                            std::string const& table, std::int64_t base)
{
    auto const value = base + 1;
    log_.write(about("write").add("table", table).add("value", value));
    std::size_t rows = 0;
    if (plan_.how == way::stamp)
        rows = lock.stamp().update(tx, table, assignments(tx, by, table, value),
                                   where_row(tx, lock.resource()));
    else if (plan_.how == way::stamp_sql)
        rows = write_stamped(tx, by, table, value);
    else
        rows = write_value(tx, by, table, value);
    log_.write(about("wrote").add("rows", static_cast<std::int64_t>(rows)));
}

void transaction_run::end_block(pqxx::transaction_base& tx)
{
    if (plan_.how == way::two_phase)
        return prepare_and_commit(tx);
    if (plan_.rolled_back)
        throw rolled_back_on_purpose{};
    receipt_ = tx.exec("SELECT fence_receipt()")[0][0].c_str();
    begin_commit();
    tx.exec("COMMIT");
}

// Where this does not come to its end, the resolver does: so from the first word on it is unknown.
void transaction_run::prepare_and_commit(pqxx::transaction_base& tx)
{
    begin_commit();
    tx.exec("PREPARE TRANSACTION " + tx.quote(tx_));
    prepared_ = true;
    log_.write(about("prepared"));
    std::this_thread::sleep_for(plan_.before_commit);
    log_.write(about("second_phase"));
    tx.exec((plan_.rolled_back ? "ROLLBACK PREPARED " : "COMMIT PREPARED ") + tx.quote(tx_));
    if (plan_.rolled_back)
        throw rolled_back_on_purpose{};
}

// Which server this is in (its port), under which number, and where the log was behind the claim.
void transaction_run::tell_place(pqxx::transaction_base& tx)
{
    auto const row = tx.exec("SELECT inet_server_port(), pg_current_xact_id()::text::bigint, "
                             "pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0];
    log_.write(about("here")
                   .add("node", row[0].as<std::int64_t>())
                   .add("xid", row[1].as<std::int64_t>())
                   .add("lsn", row[2].as<std::int64_t>()));
}

// A server that ends (57P..) may have committed before it said so. What was prepared is decided by
// whoever comes first, this or the resolver.
bool transaction_run::may_be_committed(std::exception const& e, std::string const& sqlstate) const
{
    if (prepared_)
        return true;
    return committing_ && (is_lost_connection(e) || sqlstate.empty() ||
                           sqlstate.starts_with("08") || sqlstate.starts_with("57P"));
}

void transaction_run::begin_commit()
{
    committing_ = true;
    log_.write(about("commit"));
}

} // namespace torture
