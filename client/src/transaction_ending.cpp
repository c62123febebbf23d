#include "transaction_ending.hpp"

#include <exception>
#include <string_view>

#include <fencelock/detail/pqxx_compat.hpp>

namespace fencelock::detail {

namespace {

// The middle part of a receipt, which tells the server's life, may not be known at first.
bool are_of_one_transaction(std::string_view one, std::string_view other)
{
    return one.substr(0, one.find('/')) == other.substr(0, other.find('/')) &&
           one.substr(one.rfind('/') + 1) == other.substr(other.rfind('/') + 1);
}

// Of one that libpqxx lets nothing more run in. It refuses to abort() what was committed, and takes
// it without a word where that is in doubt; to commit() what was aborted is a wrong use, what is in
// doubt an error of its own.
ending ending_of_closed(pqxx::work& work)
{
    try {
        work.abort();
    } catch (pqxx::usage_error const&) {
        return ending::committed;
    }
    try {
        work.commit();
    } catch (pqxx::usage_error const&) {
        return ending::aborted;
    } catch (std::exception const&) {
    }
    return ending::committed;
}

} // namespace

ending find_ending(pqxx::work& work, std::string const& schema, std::string& receipt)
try {
    std::string now = work.exec("SELECT " + schema + ".fence_receipt()")[0][0].c_str();
    if (!are_of_one_transaction(receipt, now))
        return ending::in_sql;
    receipt.swap(now);
    return ending::none;
} catch (pqxx::usage_error const&) {
    return ending_of_closed(work);
} catch (pqxx::sql_error const& e) {
    if (sqlstate_of(e) == "25P02")
        return ending::aborted;
    throw;
}

} // namespace fencelock::detail
