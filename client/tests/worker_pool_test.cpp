#include "worker_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>

namespace fencelock::detail {
namespace {

TEST(worker_pool_test, every_job_has_been_run_when_it_is_gone)
{
    std::atomic<int> done{0};
    {
        worker_pool pool{3};
        for (int i = 0; i < 1000; ++i)
            pool.add([&] { ++done; });
    }
    EXPECT_EQ(done, 1000);
}

TEST(worker_pool_test, a_job_that_waits_holds_up_no_other_while_there_are_threads)
{
    worker_pool pool{2};
    std::promise<void> first;
    std::promise<void> second;
    pool.add([&] { first.get_future().wait(); });
    pool.add([&] { second.set_value(); });
    second.get_future().wait();
    first.set_value();
}

TEST(worker_pool_test, it_has_no_more_threads_than_allowed)
{
    std::mutex mutex;
    std::set<std::thread::id> threads;
    {
        worker_pool pool{2};
        for (int i = 0; i < 200; ++i)
            pool.add([&] {
                std::lock_guard const guard{mutex};
                threads.insert(std::this_thread::get_id());
            });
    }
    EXPECT_GE(threads.size(), 1U);
    EXPECT_LE(threads.size(), 2U);
}

TEST(worker_pool_test, one_thread_runs_jobs_in_their_order)
{
    std::vector<int> order;
    {
        worker_pool pool{1};
        for (int i = 0; i < 100; ++i)
            pool.add([&order, i] { order.push_back(i); });
    }
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(order.at(static_cast<std::size_t>(i)), i);
}

} // namespace
} // namespace fencelock::detail
