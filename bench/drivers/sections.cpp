// Whole critical sections: acquire, BEGIN, UPDATE, COMMIT, release; each client on a row of its
// own.
//
//   sections VARIANT REDIS_PORT CLIENTS SECONDS
//
// VARIANT is unfenced or hand_written (bare hiredis and libpqxx; the latter compares and writes the
// token in the UPDATE), fenced (fencelock's client, on a guarded table), or fenced_without_reset
// (the same, which leaves sessions as they are). The database is the one that libpq's environment
// tells; the table is called after the variant. Prints one line, see print_figures.
#include <fencelock/fencelock.hpp>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include <pqxx/pqxx>

#include "bare_lock.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr char const* update = "UPDATE orders SET payload = payload + 1 WHERE id = $1";
constexpr char const* update_by_hand = "UPDATE orders SET payload = payload + 1, fence_token = $2 "
                                       "WHERE id = $1 AND fence_token <= $2";

template <typename... Arguments>
void write_one(pqxx::work& tx, std::string sql, std::string const& table, Arguments... arguments)
{
    sql.replace(sql.find("orders"), 6, table);
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
    auto const result = tx.exec(sql, pqxx::params{arguments...});
#else
    auto const result = tx.exec_params(sql, arguments...);
#endif
    if (result.affected_rows() != 1)
        throw std::runtime_error{"the row was not written"};
}

void bare_sections(int port, bool by_hand, std::string const& table, int clients, double seconds)
{
    measure(clients, seconds, [&](int i) {
        auto lock = std::make_shared<bare_lock>(port, "order:" + std::to_string(i + 1));
        auto database = std::make_shared<pqxx::connection>("");
        return [=] {
            auto const token = lock->acquire();
            pqxx::work tx{*database};
            if (by_hand)
                write_one(tx, update_by_hand, table, i + 1, token);
            else
                write_one(tx, update, table, i + 1);
            tx.commit();
            lock->release();
        };
    });
}

void fenced_sections(int port, bool reset, int clients, double seconds)
{
    std::string const table = "orders_fenced";
    fencelock::redis_locks redis{"redis://127.0.0.1:" + std::to_string(port),
                                 {.idle_connections = static_cast<std::size_t>(clients)}};
    fencelock::client locks{redis, "", {.reset_sessions = reset}};
    measure(clients, seconds, [&](int i) {
        return [&, i, resource = "order:" + std::to_string(i + 1)] {
            auto lock = locks.acquire(resource);
            lock.transaction([&](pqxx::work& tx) { write_one(tx, update, table, i + 1); });
            if (lock.release() != fencelock::release_outcome::released)
                throw std::runtime_error{"the lock of " + resource + " was not released"};
        };
    });
}

int run(std::string const& variant, int port, int clients, double seconds)
{
    if (variant == "fenced" || variant == "fenced_without_reset")
        fenced_sections(port, variant == "fenced", clients, seconds);
    else if (variant == "unfenced" || variant == "hand_written")
        bare_sections(port, variant == "hand_written", "orders_" + variant, clients, seconds);
    else
        return 64;
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char** argv)
{
    return argc == 5
               ? bench::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atof(argv[4]))
               : 64;
}
