#include "messages.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <system_error>
#include <utility>

#include "terminal.hpp"

namespace fencelock::cli {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::seconds unseen{2};
constexpr std::chrono::seconds between_redraws{1};
constexpr std::string_view clear_line = "\r\x1b[K";

// What stands in the last line of the terminal. The mutex is held by whoever writes there.
struct last_line {
    std::mutex mutex;
    bool is_progress = false;

    void clear()
    {
        if (std::exchange(is_progress, false))
            std::cerr << clear_line << std::flush;
    }
};

last_line& line()
{
    static last_line one;
    return one;
}

terminal const& messages()
{
    static terminal const one{STDERR_FILENO};
    return one;
}

bool is_in_foreground()
{
    return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

} // namespace

void say(std::string_view message)
{
    while (message.ends_with('\n'))
        message.remove_suffix(1);
    std::lock_guard const guard{line().mutex};
    line().clear();
    std::cerr << "fencelock: " << printable(message, true) << std::endl;
}

progress::progress(std::string what) : what_{std::move(what)}
{
    if (!messages().is_one())
        return;
    try {
        thread_ = std::thread{[this] { run(); }};
    } catch (std::system_error const&) { // no thread is left for it: then without a word
    }
}

progress::~progress()
{
    {
        std::lock_guard const guard{mutex_};
        over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable())
        thread_.join();
    std::lock_guard const guard{line().mutex};
    line().clear();
}

void progress::now(std::string what)
{
    std::lock_guard const guard{mutex_};
    what_ = std::move(what);
}

void progress::run()
{
    auto const start = steady::now();
    std::unique_lock guard{mutex_};
    for (auto next = start + unseen;; next += between_redraws) {
        if (changed_.wait_until(guard, next, [this] { return over_; }))
            return;
        if (!is_in_foreground())
            continue;
        draw(std::chrono::duration_cast<std::chrono::seconds>(steady::now() - start).count());
        if (!messages().can_redraw())
            return; // told once
    }
}

// With the mutex held.
void progress::draw(long seconds)
{
    auto const text = "fencelock: " + printable(what_);
    auto const time = " (" + std::to_string(seconds) + " s)";
    std::lock_guard const guard{line().mutex};
    if (!messages().can_redraw()) {
        std::cerr << text << std::endl;
        return;
    }
    auto const room = messages().width() - std::min(messages().width(), time.size() + 1);
    std::cerr << clear_line << shortened(text, room) << time << std::flush;
    line().is_progress = true;
}

} // namespace fencelock::cli
