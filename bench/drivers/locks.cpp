// Acquires and releases, or hands a lock from one waiter to the next.
//
//   locks rate VARIANT REDIS_PORT CONNECTIONS SECONDS
//   locks handoff fencelock REDIS_PORT WAITERS HANDOFFS
//
// VARIANT is bare, fencelock or redis_plus_plus. fencelock's database is the one that libpq's
// environment tells. Prints one line, see print_figures.
#include <fencelock/fencelock.hpp>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "bare_lock.hpp"
#include "measure.hpp"

#ifdef WITH_REDIS_PLUS_PLUS
#include <sw/redis++/patterns/redlock.h>
#include <sw/redis++/redis++.h>
#endif

namespace bench {
namespace {

using namespace std::chrono_literals;

/// With connections enough for all, as a program with so many threads would have them.
struct fencelock_locks {
    fencelock::redis_locks redis;
    fencelock::client client{redis, ""};

    fencelock_locks(int port, int connections)
        : redis{"redis://127.0.0.1:" + std::to_string(port),
                {.idle_connections = static_cast<std::size_t>(connections)}}
    {
    }
};

void rate_of_bare(int port, int connections, double seconds)
{
    measure(connections, seconds, [port](int i) {
        auto lock = std::make_shared<bare_lock>(port, "order:" + std::to_string(i));
        return [lock] {
            lock->acquire();
            lock->release();
        };
    });
}

void rate_of_fencelock(int port, int connections, double seconds)
{
    fencelock_locks locks{port, connections};
    measure(connections, seconds, [&](int i) {
        return [&locks, resource = "order:" + std::to_string(i)] {
            auto lock = locks.client.acquire(resource);
            if (lock.release() != fencelock::release_outcome::released)
                throw std::runtime_error{"the lock of " + resource + " was not released"};
        };
    });
}

#ifdef WITH_REDIS_PLUS_PLUS
void rate_of_redis_plus_plus(int port, int connections, double seconds)
{
    sw::redis::ConnectionOptions server;
    server.host = "127.0.0.1";
    server.port = port;
    sw::redis::ConnectionPoolOptions pool;
    pool.size = static_cast<std::size_t>(connections);
    auto const redis = std::make_shared<sw::redis::Redis>(server, pool);
    measure(connections, seconds, [&](int i) {
        return [redis, resource = "order:" + std::to_string(i)] {
            sw::redis::RedLockMutex mutex{redis, resource};
            sw::redis::RedLock<sw::redis::RedLockMutex> lock{mutex, std::defer_lock};
            if (!lock.try_lock(30s))
                throw std::runtime_error{"the lock of " + resource + " is held by another"};
            lock.unlock();
        };
    });
}
#endif

// One holds for 5 to 15 ms, so that all others wait by then and nobody's polling falls into step
// with it. Whoever releases comes again only when somebody else has the lock: what is measured is
// the way to a waiter.
void handoffs_of_fencelock(int port, int waiters, int handoffs)
{
    fencelock_locks locks{port, waiters + 1};
    std::atomic<int> grants{0};
    steady::time_point released; // guarded by the lock
    std::vector<double> took;    // guarded by the lock
    auto const begun = steady::now();
    auto const take_turns = [&] {
        std::minstd_rand random{std::random_device{}()};
        while (grants < handoffs) {
            auto lock = locks.client.acquire("order:1", {.wait = 10min});
            if (grants > 0 && grants < handoffs)
                took.push_back(microseconds{steady::now() - released}.count());
            auto const mine = ++grants;
            grants.notify_all();
            if (mine < handoffs)
                std::this_thread::sleep_for(std::chrono::microseconds{5000 + random() % 10000});
            released = steady::now();
            lock.release();
            if (mine < handoffs)
                grants.wait(mine);
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i <= waiters; ++i)
            threads.emplace_back(take_turns);
    }
    print_figures(took, std::chrono::duration<double>{steady::now() - begun}.count());
}

int run(std::string_view what, std::string_view variant, int port, int count, char const* amount)
{
    if (what == "rate" && variant == "bare")
        rate_of_bare(port, count, std::atof(amount));
    else if (what == "rate" && variant == "fencelock")
        rate_of_fencelock(port, count, std::atof(amount));
#ifdef WITH_REDIS_PLUS_PLUS
    else if (what == "rate" && variant == "redis_plus_plus")
        rate_of_redis_plus_plus(port, count, std::atof(amount));
#endif
    else if (what == "handoff" && variant == "fencelock")
        handoffs_of_fencelock(port, count, std::atoi(amount));
    else
        return 64;
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char** argv)
{
    return argc == 6 ? bench::run(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]), argv[5])
                     : 64;
}
