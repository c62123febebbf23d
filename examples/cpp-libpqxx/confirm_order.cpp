// Usage: confirm_order REDIS_URL CONNINFO ORDER
#include "orders.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv)
try {
    if (argc != 4) {
        std::cerr << "usage: confirm_order REDIS_URL CONNINFO ORDER\n";
        return 64;
    }
    const long order = std::atol(argv[3]);
    fencelock::redis_locks redis{argv[1]};
    fencelock::client locks{redis, argv[2]};
    auto lock = locks.acquire(resource_of(order), {.ttl = 30s, .wait = 5s});
    std::cout << (confirm(lock, order) ? "confirmed" : "not new") << '\n';
} catch (const fencelock::stale_token& e) {
    std::cerr << "a later holder was here, start again: " << e.what() << '\n';
    return 77;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 70;
}
