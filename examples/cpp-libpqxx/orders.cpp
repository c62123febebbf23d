#include "orders.hpp"

#include <pqxx/pqxx>

bool confirm(fencelock::lock& lock, long order)
{
    // The token is presented before this runs: what is read here, no earlier holder can change.
    return lock.transaction([&](pqxx::work& tx) {
        const auto found = tx.exec_params("SELECT status FROM orders WHERE id = $1", order);
        if (found.empty() || found[0][0].as<std::string>() != "new")
            return false;
        tx.exec_params("UPDATE orders SET status = 'confirmed' WHERE id = $1", order);
        return true;
    });
}

std::string resource_of(long order)
{
    return "order:" + std::to_string(order);
}
