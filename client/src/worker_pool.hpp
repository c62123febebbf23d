// Threads that run jobs in the background.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fencelock::detail {

/// Thread-safe. The threads are started when there is something to do for them.
class worker_pool {
  public:
    explicit worker_pool(std::size_t most_threads) : most_{most_threads} {}

    /// Returns when every job has been run.
    ~worker_pool();
    worker_pool(worker_pool const&) = delete;
    worker_pool& operator=(worker_pool const&) = delete;

    /// Jobs begin in the order in which they were added, and throw nothing. Throws std::bad_alloc,
    /// and std::system_error where there is no thread and none can be started: then the job was not
    /// added.
    void add(std::function<void()> job);

  private:
    void run();

    std::size_t const most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    std::size_t idle_ = 0; // threads that wait
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

} // namespace fencelock::detail
