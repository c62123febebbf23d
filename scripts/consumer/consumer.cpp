// Shows that the installed headers and library are complete: everything that a program uses is
// named here. What is run needs no server.
#include <fencelock/client.hpp>
#include <pqxx/pqxx>

#include <chrono>
#include <exception>
#include <iostream>

namespace {

void confirm_order(fencelock::client& locks, long order)
{
    using namespace std::chrono_literals;
    if (auto lock = locks.try_acquire("order:" + std::to_string(order), {.ttl = 10s, .wait = 2s})) {
        lock->transaction([&](pqxx::work& tx) {
            tx.exec("UPDATE orders SET status = 'confirmed' WHERE id = " + std::to_string(order));
        });
        lock->release();
    }
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (argc == 3) { // never so by the check, but the linker can't know
            fencelock::redis_locks redis{argv[1]};
            fencelock::client locks{redis, argv[2]};
            confirm_order(locks, 1001);
            return 0;
        }
        fencelock::redis_locks redis{"gopher://localhost"};
    } catch (const fencelock::invalid_argument& e) {
        std::cout << "refused, as it must be: " << e.what() << '\n';
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    std::cerr << "a bad URL was accepted\n";
    return 1;
}
