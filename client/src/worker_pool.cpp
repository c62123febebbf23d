#include "worker_pool.hpp"

#include <system_error>
#include <utility>

namespace fencelock::detail {

worker_pool::~worker_pool()
{
    {
        std::lock_guard const guard{mutex_};
        ending_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_)
        thread.join();
}

void worker_pool::add(std::function<void()> job)
{
    {
        std::lock_guard const guard{mutex_};
        jobs_.push_back(std::move(job));
        if (jobs_.size() > idle_ && threads_.size() < most_) {
            try {
                threads_.emplace_back([this] { run(); });
            } catch (std::exception const&) {
                if (threads_.empty()) {
                    jobs_.pop_back();
                    throw;
                }
            }
        }
    }
    changed_.notify_one();
}

void worker_pool::run()
{
    std::unique_lock guard{mutex_};
    for (;;) {
        ++idle_;
        changed_.wait(guard, [this] { return ending_ || !jobs_.empty(); });
        --idle_;
        if (jobs_.empty())
            return;
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        guard.unlock();
        job();
        job = nullptr; // what it had goes without the mutex
        guard.lock();
    }
}

} // namespace fencelock::detail
