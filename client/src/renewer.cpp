#include "renewer.hpp"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lease.hpp"

namespace fencelock::detail {

namespace {

// How many renewals wait for one server at a time.
constexpr int most_at_one_server = 4;

// How long a helper waits for more to do.
constexpr std::chrono::seconds linger{1};

// Before it is tried again.
constexpr milliseconds pause_without_memory{100};

} // namespace

// Shared with the threads, because the last handle, and with it the renewer, may be destroyed by
// one of them. No lease is destroyed while the mutex is held: its destructor calls forget().
class renewer::schedule : public std::enable_shared_from_this<renewer::schedule> {
  public:
    void add(std::shared_ptr<lease> const& one, steady::time_point first);
    void forget(lease const* one) noexcept;
    void end();

  private:
    // Waits for `wakes`; once it is due, that is the end of the lease, and `asked_for` says that a
    // helper has been called.
    struct entry {
        std::weak_ptr<lease> what;
        steady::time_point wakes;
        bool asked_for = false;
    };
    using entries = std::map<lease const*, entry>;

    // What is due at one server. Those that end first go first.
    struct queue {
        std::multimap<steady::time_point, std::weak_ptr<lease>> due;
        int waiting_for_it = 0;

        bool can_be_served() const { return !due.empty() && waiting_for_it < most_at_one_server; }
    };
    using server = std::pair<issuer const*, std::string>;
    using queues = std::map<server, queue>;

    void keep_time();
    void look_at(lease const* key, entry const& seen);
    void help(std::list<std::thread>::iterator self);
    bool wait_for_work(std::unique_lock<std::mutex>& guard);
    void serve(std::weak_ptr<lease> const& what);

    // With the mutex held:
    void start_threads();
    void call_helper();
    void start_helper();
    void wake_keeper_for(steady::time_point due) noexcept;
    void move(entries::iterator one, steady::time_point to) noexcept;
    void drop(entries::iterator one);
    queues::iterator to_serve();
    bool has_work() { return to_serve() != queues_.end(); }

    std::mutex mutex_;
    std::condition_variable first_changed_; // for the time keeper
    std::condition_variable work_came_;     // for helpers
    bool ending_ = false;
    steady::time_point keeper_sleeps_until_{steady::time_point::min()}; // min: it is awake
    entries entries_;
    std::set<std::pair<steady::time_point, lease const*>> by_time_;
    queues queues_;
    std::size_t idle_helpers_ = 0;
    std::thread keeper_;
    std::list<std::thread> helpers_;
    std::list<std::thread> ended_helpers_;
};

renewer::renewer() : schedule_{std::make_shared<schedule>()} {}

renewer::~renewer()
{
    schedule_->end();
}

void renewer::add(std::shared_ptr<lease> const& one, steady::time_point first)
{
    schedule_->add(one, first);
}

void renewer::forget(lease const& one) noexcept
{
    schedule_->forget(&one);
}

void renewer::schedule::add(std::shared_ptr<lease> const& one, steady::time_point first)
{
    std::lock_guard const guard{mutex_};
    start_threads();
    auto const at = entries_.emplace(one.get(), entry{one, first}).first;
    try {
        by_time_.emplace(first, one.get());
    } catch (...) {
        entries_.erase(at);
        throw;
    }
    wake_keeper_for(first);
}

void renewer::schedule::forget(lease const* one) noexcept
{
    std::lock_guard const guard{mutex_};
    auto const at = entries_.find(one);
    if (at != entries_.end() && at->second.what.expired()) // else it is a new one in its place
        drop(at);
}

// By then there is no lease, since each keeps the renewer alive: no thread waits for a server.
void renewer::schedule::end()
{
    std::list<std::thread> helpers; // spliced, which needs no memory
    {
        std::lock_guard const guard{mutex_};
        ending_ = true;
        helpers.splice(helpers.end(), helpers_);
        helpers.splice(helpers.end(), ended_helpers_);
    }
    first_changed_.notify_all();
    work_came_.notify_all();
    auto const wait_for = [](std::thread& one) {
        if (one.get_id() == std::this_thread::get_id())
            one.detach();
        else if (one.joinable())
            one.join();
    };
    for (auto& one : helpers)
        wait_for(one);
    wait_for(keeper_);
}

void renewer::schedule::keep_time()
{
    std::unique_lock guard{mutex_};
    while (!ending_) {
        if (by_time_.empty()) {
            keeper_sleeps_until_ = steady::time_point::max();
            first_changed_.wait(guard);
            keeper_sleeps_until_ = steady::time_point::min();
            continue;
        }
        auto const [wakes, key] = *by_time_.begin();
        if (wakes > steady::now()) {
            keeper_sleeps_until_ = wakes;
            first_changed_.wait_until(guard, steady::time_point{wakes});
            keeper_sleeps_until_ = steady::time_point::min();
            continue;
        }
        auto const seen = entries_.at(key);
        guard.unlock();
        bool looked = true;
        try {
            look_at(key, seen);
        } catch (std::exception const&) { // no memory: it is due still, and looked at again
            looked = false;
        }
        guard.lock();
        if (!looked)
            first_changed_.wait_for(guard, pause_without_memory);
    }
}

// Tells a loss, and calls a helper where there is something to be asked.
void renewer::schedule::look_at(lease const* key, entry const& seen)
{
    auto const alive = seen.what.lock();
    if (!alive) { // being destroyed
        forget(key);
        return;
    }
    bool const held = alive->held();
    bool const asks = held ? alive->is_renewed() && !seen.asked_for : alive->left_something();
    auto const validity = alive->valid_until();
    auto of_server = asks ? server{&alive->granted_by(), alive->server()} : server{};

    std::lock_guard const guard{mutex_}; // released before `alive` is
    auto const at = entries_.find(key);
    if (at == entries_.end() || at->second.wakes != seen.wakes)
        return; // a helper was faster
    if (asks) {
        queues_[std::move(of_server)].due.emplace(validity, alive);
        call_helper();
    }
    if (!held) {
        drop(at);
        return;
    }
    at->second.asked_for = seen.asked_for || asks;
    move(at, validity);
}

void renewer::schedule::help(std::list<std::thread>::iterator self)
{
    std::unique_lock guard{mutex_};
    while (!ending_) { // from then on what is due is over, and nobody would join another helper
        auto const at = to_serve();
        if (at == queues_.end()) {
            if (wait_for_work(guard) || ending_)
                continue;
            ended_helpers_.splice(ended_helpers_.end(), helpers_, self);
            return;
        }
        auto const first = at->second.due.begin();
        auto const what = std::move(first->second);
        at->second.due.erase(first);
        ++at->second.waiting_for_it;
        if (has_work())
            call_helper();
        guard.unlock();
        serve(what);
        guard.lock();
        if (--at->second.waiting_for_it == 0 && at->second.due.empty())
            queues_.erase(at);
    }
}

// False where this helper is of no more use. The only one waits for as long as it takes.
bool renewer::schedule::wait_for_work(std::unique_lock<std::mutex>& guard)
{
    auto const called = [this] { return ending_ || has_work(); };
    ++idle_helpers_;
    bool in_time = true;
    if (helpers_.size() == 1)
        work_came_.wait(guard, called);
    else
        in_time = work_came_.wait_for(guard, linger, called);
    --idle_helpers_;
    return !ending_ && (in_time || helpers_.size() == 1);
}

void renewer::schedule::serve(std::weak_ptr<lease> const& what)
{
    auto const alive = what.lock();
    if (!alive)
        return;
    auto const next = alive->renew_in_background();

    std::lock_guard const guard{mutex_}; // released before `alive` is
    auto const at = entries_.find(alive.get());
    if (at == entries_.end())
        return;
    if (!next) {
        drop(at);
        return;
    }
    at->second.asked_for = false;
    move(at, *next);
}

// One helper stays as long as the keeper does: where the system has no threads left, it is enough.
void renewer::schedule::start_threads()
{
    if (helpers_.empty())
        start_helper();
    if (!keeper_.joinable())
        keeper_ = std::thread{[self = shared_from_this()] { self->keep_time(); }};
}

void renewer::schedule::call_helper()
{
    for (auto& one : ended_helpers_) // each has let go of the mutex for good
        one.join();
    ended_helpers_.clear();
    if (idle_helpers_ > 0) {
        work_came_.notify_one();
        return;
    }
    if (helpers_.size() >= queues_.size() * most_at_one_server)
        return; // one of them is free, or about to be
    try {
        start_helper();
    } catch (std::exception const&) { // no thread, no memory: those that there are do it, if later
    }
}

void renewer::schedule::start_helper()
{
    auto const self = helpers_.emplace(helpers_.end());
    try {
        *self = std::thread{[shared = shared_from_this(), self] { shared->help(self); }};
    } catch (...) {
        helpers_.erase(self);
        throw;
    }
}

// Only where it would come too late. What ends in the meantime does not wake it either: so of locks
// that are held for moments, one in a third of a TTL does.
void renewer::schedule::wake_keeper_for(steady::time_point due) noexcept
{
    if (due < keeper_sleeps_until_)
        first_changed_.notify_one();
}

void renewer::schedule::move(entries::iterator one, steady::time_point to) noexcept
{
    auto node = by_time_.extract({one->second.wakes, one->first}); // needs no memory
    one->second.wakes = to;
    node.value().first = to;
    by_time_.insert(std::move(node));
    wake_keeper_for(to);
}

void renewer::schedule::drop(entries::iterator one)
{
    by_time_.erase({one->second.wakes, one->first});
    entries_.erase(one);
}

renewer::schedule::queues::iterator renewer::schedule::to_serve()
{
    return std::find_if(queues_.begin(), queues_.end(),
                        [](auto const& one) { return one.second.can_be_served(); });
}

} // namespace fencelock::detail
