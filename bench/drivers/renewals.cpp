// What it costs to keep many leases alive.
//
//   renewals REDIS_PORT LEASES TTL_SECONDS SECONDS
//
// Prints one line: the CPU time of this process and that of Redis in percent of a core, the
// renewals, and the leases lost, all within SECONDS.
#include <fencelock/fencelock.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "bare_lock.hpp"
#include "measure.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

double own_cpu_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double redis_cpu_seconds(redis_connection const& connection)
{
    std::string const text = command(connection, "INFO cpu")->str;
    auto const field = [&text](char const* name) {
        return std::atof(text.c_str() + text.find(name) + std::strlen(name));
    };
    return field("used_cpu_sys:") + field("used_cpu_user:");
}

// By a few threads: each lease is the first of its resource, whose tokens PostgreSQL reserves.
std::vector<fencelock::lock> acquire_all(fencelock::client& locks, int leases,
                                         std::chrono::seconds ttl)
{
    std::vector<fencelock::lock> held;
    std::mutex mutex;
    std::atomic<int> next{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = next++; n < leases; n = next++) {
                auto lock = locks.acquire("order:" + std::to_string(n), {.ttl = ttl});
                std::lock_guard const guard{mutex};
                held.push_back(std::move(lock));
            }
        });
    threads.clear(); // joined
    return held;
}

void run(int port, int leases, std::chrono::seconds ttl, std::chrono::seconds length)
{
    fencelock::redis_locks redis{"redis://127.0.0.1:" + std::to_string(port)};
    fencelock::client locks{redis, ""};
    auto const held = acquire_all(locks, leases, ttl);
    auto const looker = connect(port);

    auto const counted = locks.counters();
    auto const own = own_cpu_seconds();
    auto const redis_cpu = redis_cpu_seconds(looker);
    auto const begun = steady::now();
    std::this_thread::sleep_for(length);
    auto const passed = std::chrono::duration<double>{steady::now() - begun}.count();
    auto const now = locks.counters();
    std::printf("%.3f\t%.3f\t%llu\t%llu\n", (own_cpu_seconds() - own) / passed * 100,
                (redis_cpu_seconds(looker) - redis_cpu) / passed * 100,
                static_cast<unsigned long long>(now.renewals - counted.renewals),
                static_cast<unsigned long long>(now.lost));
}

} // namespace
} // namespace bench

int main(int argc, char** argv)
{
    if (argc != 5)
        return 64;
    bench::run(std::atoi(argv[1]), std::atoi(argv[2]), std::chrono::seconds{std::atoi(argv[3])},
               std::chrono::seconds{std::atoi(argv[4])});
}
