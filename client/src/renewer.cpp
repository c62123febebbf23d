#include "renewer.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "lease.hpp"

namespace fencelock::detail {

// Shared with the thread, because the last handle, and with it the renewer, may be destroyed by it.
struct renewer::schedule {
    struct entry {
        std::weak_ptr<lease> what;
        next_visit next;
    };

    std::mutex mutex;
    std::condition_variable changed;
    std::multimap<steady::time_point, entry> by_due;
    std::multiset<steady::time_point> validities;
    bool ending = false;

    void insert(entry one)
    {
        validities.insert(one.next.validity);
        by_due.emplace(one.next.due, std::move(one));
    }

    entry take_first()
    {
        auto first = std::move(by_due.begin()->second);
        by_due.erase(by_due.begin());
        validities.erase(validities.find(first.next.validity));
        return first;
    }
};

renewer::renewer() : schedule_{std::make_shared<schedule>()} {}

renewer::~renewer()
{
    {
        std::lock_guard const guard{schedule_->mutex};
        schedule_->ending = true;
    }
    schedule_->changed.notify_all();
    if (!thread_.joinable())
        return;
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
}

void renewer::add(std::shared_ptr<lease> const& one, next_visit first)
{
    {
        std::lock_guard const guard{schedule_->mutex};
        schedule_->insert({one, first});
        if (!thread_.joinable())
            thread_ = std::thread{[shared = schedule_] { run(shared); }};
    }
    schedule_->changed.notify_all();
}

void renewer::run(std::shared_ptr<schedule> const& shared)
{
    std::unique_lock guard{shared->mutex};
    while (!shared->ending) {
        if (shared->by_due.empty()) {
            shared->changed.wait(guard);
            continue;
        }
        auto const due = shared->by_due.begin()->first;
        if (due > steady::now()) {
            shared->changed.wait_until(guard, due);
            continue;
        }
        auto current = shared->take_first();
        auto const cut =
            shared->validities.empty() ? steady::time_point::max() : *shared->validities.begin();
        guard.unlock();
        std::optional<next_visit> next;
        if (auto const alive = current.what.lock())
            next = alive->renew_in_background(cut);
        guard.lock();
        if (next)
            shared->insert({std::move(current.what), *next});
    }
}

} // namespace fencelock::detail
