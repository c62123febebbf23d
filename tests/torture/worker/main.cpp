// A worker of the torture: threads that take locks, stall, read, decide and write, and write down
// what they do, until SIGTERM. What they do follows from the seed; when, from the machine.
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "history.hpp"
#include "operation.hpp"
#include "options.hpp"
#include "plan.hpp"

namespace {

volatile std::sig_atomic_t told_to_end = 0;

void work(torture::options const& chosen, torture::history& log, torture::clients& locks,
          int thread)
{
    torture::planner plans{chosen, thread};
    torture::session own{chosen.database};
    auto const name = chosen.name + ".t" + std::to_string(thread);
    for (std::int64_t number = 0; !told_to_end; ++number) {
        auto const plan = plans.next();
        torture::operation{log, locks, own, plan, name + "." + std::to_string(number)}.run();
    }
}

} // namespace

int main(int argc, char** argv)
try {
    auto const chosen = torture::read_options({argv + 1, argv + argc});
    (void)std::signal(SIGTERM, [](int) { told_to_end = 1; });
    torture::history log{chosen.history};
    torture::clients locks{chosen};
    log.write(torture::event{"started"}.add("worker", chosen.name));
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(chosen.threads));
    for (int i = 0; i < chosen.threads; ++i)
        threads.emplace_back([&, i] {
            try {
                work(chosen, log, locks, i);
            } catch (std::exception const& e) {
                log.write(torture::event{"crashed"}.add("what", e.what()));
                std::cerr << chosen.name << ": " << e.what() << '\n';
                std::_Exit(70);
            }
        });
    threads.clear(); // waits
    log.write(torture::event{"ended"}.add("worker", chosen.name));
    return 0;
} catch (std::exception const& e) {
    std::cerr << "torture_worker: " << e.what() << '\n';
    return 70;
}
