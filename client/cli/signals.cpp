#include "signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace fencelock::cli {

namespace {

bool is_ignored(int signal)
{
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

} // namespace

signal_inbox::signal_inbox()
{
    ::sigemptyset(&taken_);
    for (int const one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM})
        if (!is_ignored(one))
            ::sigaddset(&taken_, one);
    ::sigaddset(&taken_, wake_signal());
    // Ignored, it would let the kernel reap children without a word.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, nullptr);
    ::sigaddset(&taken_, SIGCHLD);

    sigset_t blocked = taken_;
    ::sigaddset(&blocked, SIGTTOU); // taking the terminal back must not stop this process
    ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
}

std::optional<int> signal_inbox::next(std::optional<std::chrono::milliseconds> limit)
{
    for (;;) {
        int signal = 0;
        if (limit) {
            timespec const pause{limit->count() / 1000, (limit->count() % 1000) * 1'000'000};
            signal = ::sigtimedwait(&taken_, nullptr, &pause);
        } else {
            signal = ::sigwaitinfo(&taken_, nullptr);
        }
        if (signal > 0)
            return signal;
        if (errno == EAGAIN)
            return std::nullopt;
    }
}

void signal_inbox::wake() noexcept
{
    ::kill(::getpid(), wake_signal());
}

int signal_inbox::wake_signal() noexcept
{
    return SIGRTMIN;
}

} // namespace fencelock::cli
