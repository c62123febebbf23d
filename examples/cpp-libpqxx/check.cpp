// Shows the recipe at work: two holders of one lock, the first of which stalls.
#include "orders.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>

#include <pqxx/pqxx>

using namespace std::chrono_literals;

namespace {

int failed = 0;

void check(const std::string& what, bool good)
{
    std::cout << (good ? "ok - " : "not ok - ") << what << std::endl;
    failed += good ? 0 : 1;
}

template <typename Error, typename Work>
void check_refused(const std::string& what, Work work)
{
    try {
        work();
    } catch (const Error& e) {
        std::cout << "# " << e.what() << '\n';
        return check(what, true);
    } catch (const std::exception& e) {
        std::cout << "# " << e.what() << '\n';
    }
    check(what, false);
}

std::string sqlstate_of(pqxx::connection& database, const std::string& statement)
{
    try {
        pqxx::work tx{database};
        tx.exec(statement);
        tx.commit();
        return "none";
    } catch (const pqxx::sql_error& e) {
        std::cout << "# " << e.what() << '\n';
        return e.sqlstate();
    }
}

std::string status_of(pqxx::connection& database, long order)
{
    pqxx::nontransaction tx{database};
    return tx.exec_params("SELECT status FROM orders WHERE id = $1", order)[0][0].c_str();
}

void story()
{
    constexpr long order = 1001;
    fencelock::redis_locks redis{std::getenv("REDIS_URL")};
    fencelock::client locks{redis, ""}; // the variables PGHOST ... say where
    pqxx::connection database{""};

    // The first holder sleeps until after its lease, which nobody renews.
    auto first = locks.acquire(resource_of(order), {.ttl = 300ms, .wait = 60s, .renew = false});
    auto second = locks.acquire(resource_of(order), {.ttl = 60s, .wait = 60s});
    check("a later holder has a higher token", second.token() > first.token());
    check("a decision that holds is written", confirm(second, order));
    check("the good write is accepted", status_of(database, order) == "confirmed");
    check("a decision that does not hold is not written", !confirm(second, order));

    // A program that does not look at its lease before each statement (and between that look and
    // the statement there is always a moment) is stopped by the database.
    const auto stamped = first.stamp().assignment();
    check("the stale write is refused: LF001",
          sqlstate_of(database, "UPDATE orders SET status = 'cancelled', " + stamped +
                                    " WHERE id = 1001") == "LF001");
    check("the forgotten token is refused: LF002",
          sqlstate_of(database, "UPDATE orders SET status = 'cancelled' WHERE id = 1001") ==
              "LF002");
    check_refused<fencelock::lock_lost>("a lease that is over begins no transaction",
                                        [&] { confirm(first, order); });
    check_refused<fencelock::token_required>("a lock of one order is none of another", [&] {
        second.transaction(
            [](pqxx::work& tx) { tx.exec("UPDATE orders SET status = 'sent' WHERE id = 1002"); });
    });
    check("the successor's write stands", status_of(database, order) == "confirmed");
}

} // namespace

int main()
try {
    story();
    return failed == 0 ? 0 : 1;
} catch (const std::exception& e) {
    std::cout << "not ok - " << e.what() << '\n';
    return 1;
}
