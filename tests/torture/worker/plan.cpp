#include "plan.hpp"

#include <algorithm>

namespace torture {

namespace {

std::vector<way> ways_for(std::string const& family, bool two_phase)
{
    std::vector<way> ways{way::transaction,  way::transaction_own, way::claim,   way::stamp,
                          way::stamp_sql,    way::stamp_sql,       way::setting, way::check,
                          way::check_by_try, way::savepoint,       way::unfenced};
    if (family == "acct" && two_phase)
        ways.push_back(way::two_phase);
    return ways;
}

} // namespace

std::string_view name_of(way w)
{
    switch (w) {
    case way::transaction:
        return "transaction";
    case way::transaction_own:
        return "transaction_own";
    case way::claim:
        return "claim";
    case way::stamp:
        return "stamp";
    case way::stamp_sql:
        return "stamp_sql";
    case way::setting:
        return "setting";
    case way::check:
        return "check";
    case way::check_by_try:
        return "check_by_try";
    case way::savepoint:
        return "savepoint";
    case way::two_phase:
        return "two_phase";
    case way::unfenced:
        return "unfenced";
    case way::transfer:
        break;
    }
    return "transfer";
}

std::string_view name_of(level l)
{
    switch (l) {
    case level::read_committed:
        return "READ COMMITTED";
    case level::repeatable_read:
        return "REPEATABLE READ";
    case level::serializable:
        break;
    }
    return "SERIALIZABLE";
}

planner::planner(options const& chosen, int thread)
    : options_{chosen}, random_{chosen.seed * 1000 + static_cast<std::uint64_t>(thread)}, groups_{
                                                                                              "db"}
{
    for (auto const& [group, url] : chosen.redis)
        for (int weight = 0; weight < 3; ++weight)
            groups_.push_back(group);
    for (auto const& [group, urls] : chosen.redlock)
        groups_.insert(groups_.end(), 2, group);
}

operation_plan planner::next()
{
    operation_plan op;
    op.group = any_of(groups_);
    auto const family = any_of(std::vector<std::string>{"acct", "acct", "acct", "solo", "once"});
    auto const number = between(0, options_.resources - 1);
    auto const resource = [&](std::int64_t n) {
        return family + ":" + op.group + ":" + std::to_string(n);
    };
    op.resource = resource(number);
    bool const transfer = family == "acct" && one_in(6);
    if (transfer) {
        op.resource = resource(0);
        op.other = resource(1);
    }
    op.ttl = milliseconds{between(60, 900)};
    op.wait = milliseconds{one_in(3) ? 0 : between(1, 600)};
    op.confirm = one_in(3);
    op.renew = !one_in(3);
    op.owner = one_in(5);
    op.before_first = think(op.ttl.count());
    auto const count = one_in(3) ? between(2, 3) : 1;
    for (std::int64_t n = 0; n < count; ++n) {
        op.transactions.push_back(next_transaction(op, family));
        if (transfer) {
            op.transactions.back().how = way::transfer;
            op.transactions.back().tables = {"purse"};
        }
    }
    op.end = one_in(6) ? ending::detach : one_in(4) ? ending::destroy : ending::release;
    return op;
}

// Mostly much shorter than the TTL, sometimes about as long: so that leases end under work.
milliseconds planner::think(std::int64_t ttl)
{
    return milliseconds{one_in(8) ? between(0, ttl) : between(0, 10)};
}

transaction_plan planner::next_transaction(operation_plan const& op, std::string const& family)
{
    transaction_plan tx;
    tx.how = any_of(ways_for(family, options_.two_phase));
    tx.isolation = static_cast<level>(between(0, 2));
    tx.tables = tables_for(family, tx.how);
    tx.before_read = think(op.ttl.count());
    tx.before_write = one_in(4) ? milliseconds{between(0, op.ttl.count())} : think(op.ttl.count());
    tx.before_commit = think(op.ttl.count());
    tx.rolled_back = one_in(12);
    return tx;
}

// Stamps need a token column that counts; a DELETE, which `note` sees too, can't have one.
std::vector<std::string> planner::tables_for(std::string const& family, way how)
{
    if (family != "acct")
        return {family};
    if (how == way::stamp || how == way::stamp_sql)
        return {"account"};
    std::vector<std::string> tables{"account", "ledger", "bare", "note"};
    std::shuffle(tables.begin(), tables.end(), random_);
    tables.resize(static_cast<std::size_t>(between(1, 3)));
    return tables;
}

std::int64_t planner::between(std::int64_t low, std::int64_t high)
{
    return std::uniform_int_distribution<std::int64_t>{low, high}(random_);
}

} // namespace torture
