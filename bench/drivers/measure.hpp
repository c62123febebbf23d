// Workers that repeat one step for a while, and how long their steps took.
#pragma once

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stop_token>
#include <thread>
#include <vector>

namespace bench {

using steady = std::chrono::steady_clock;
using microseconds = std::chrono::duration<double, std::micro>;

/// Of numbers in any order; 0 where there are none.
inline double percentile(std::vector<double>& numbers, double share)
{
    if (numbers.empty())
        return 0;
    auto const rank = static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1));
    auto const at = numbers.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(numbers.begin(), at, numbers.end());
    return *at;
}

/// One line: how many, in how many seconds, median and 99th percentile in microseconds.
inline void print_figures(std::vector<double>& took, double seconds)
{
    auto const median = percentile(took, 0.5);
    auto const p99 = percentile(took, 0.99);
    std::printf("%zu\t%.3f\t%.1f\t%.1f\n", took.size(), seconds, median, p99);
}

/// `new_step(i)` makes the step of worker i, in the worker's thread. Each is run once before the
/// time begins, so that connections, scripts and caches are there. A step that throws ends the
/// program.
template <typename New_step>
void measure(int workers, double seconds, New_step new_step)
{
    std::barrier ready{workers + 1};
    std::stop_source end;
    std::vector<std::vector<double>> took(static_cast<std::size_t>(workers));
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i)
        threads.emplace_back([&, i] {
            auto step = new_step(i);
            step();
            auto& mine = took[static_cast<std::size_t>(i)];
            mine.reserve(1 << 16);
            ready.arrive_and_wait();
            while (!end.stop_requested()) {
                auto const begun = steady::now();
                step();
                mine.push_back(microseconds{steady::now() - begun}.count());
            }
        });
    ready.arrive_and_wait();
    auto const begun = steady::now();
    std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
    end.request_stop();
    threads.clear(); // joined
    auto const passed = std::chrono::duration<double>{steady::now() - begun}.count();

    std::vector<double> all;
    for (auto const& part : took)
        all.insert(all.end(), part.begin(), part.end());
    print_figures(all, passed);
}

} // namespace bench
