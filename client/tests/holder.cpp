// A lock holder in a process of its own, to be stopped and woken by a test. Acquires, says so,
// waits until it is told to go on, writes, and says what became of it.
//
// holder REDIS_URL CONNINFO RESOURCE TTL_MS GO_FILE
#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include <fencelock/fencelock.hpp>

namespace {

std::string written_by(fencelock::lock& lock, std::string const& resource)
try {
    lock.transaction([&](pqxx::work& tx) {
        tx.exec("UPDATE guarded SET status = 'stalled' WHERE name = " + tx.quote(resource));
    });
    return "written";
} catch (fencelock::lock_lost const&) {
    return "lock_lost";
} catch (fencelock::stale_token const&) {
    return "stale_token";
}

} // namespace

int main(int, char** argv)
try {
    fencelock::redis_locks redis{argv[1]};
    fencelock::client locks{redis, argv[2]};
    auto lock = locks.acquire(argv[3], {.ttl = std::chrono::milliseconds{std::stoll(argv[4])}});
    std::cout << "token " << lock.token() << std::endl;
    while (!std::filesystem::exists(argv[5]))
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    std::cout << "result " << written_by(lock, argv[3]) << std::endl;
} catch (std::exception const& e) {
    std::cout << "error " << e.what() << std::endl;
    return 1;
}
