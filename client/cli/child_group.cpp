#include "child_group.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "unique_fd.hpp"

namespace fencelock::cli {

namespace {

std::vector<char*> pointers(std::vector<std::string> const& texts)
{
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (auto const& text : texts)
        result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

bool in_foreground()
{
    return ::isatty(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

} // namespace

child_group::child_group(std::vector<std::string> const& program,
                         std::vector<std::string> const& environment, sigset_t const& mask)
    : has_terminal_{in_foreground()}
{
    // Made before the fork: in a process with threads the child may not allocate.
    auto const argv = pointers(program);
    auto const envp = pointers(environment);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error{errno, std::system_category(), "pipe"};
    detail::unique_fd const from_child{ends[0]};
    detail::unique_fd to_parent{ends[1]};
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error{errno, std::system_category(), "fork"};
    if (pid_ == 0)
        become(argv, envp, mask, to_parent.get());
    to_parent = detail::unique_fd{};

    // Nothing arrives where the program was started: that closes the pipe.
    int code = 0;
    ssize_t got = 0;
    do
        got = ::read(from_child.get(), &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        ::waitpid(pid_, nullptr, 0);
        if (has_terminal_)
            ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
        throw exec_failure{code};
    }
}

child_group::~child_group()
{
    if (has_terminal_)
        ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
}

void child_group::send(int signal) noexcept
{
    ::kill(-pid_, signal);
}

std::optional<int> child_group::status()
{
    int raw = 0;
    while (!status_ && ::waitpid(pid_, &raw, WNOHANG | WUNTRACED) == pid_) {
        if (WIFEXITED(raw))
            status_ = WEXITSTATUS(raw);
        else if (WIFSIGNALED(raw))
            status_ = 128 + WTERMSIG(raw);
        else if (has_terminal_)
            stop_with_it();
    }
    return status_;
}

bool child_group::any_left() const noexcept
{
    return ::kill(-pid_, 0) == 0 || errno == EPERM;
}

void child_group::become(std::vector<char*> const& argv, std::vector<char*> const& envp,
                         sigset_t const& mask, int report) const noexcept
{
    ::setpgid(0, 0);
    if (has_terminal_) // SIGTTOU is blocked still
        ::tcsetpgrp(STDIN_FILENO, ::getpid());
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(argv.front(), argv.data(), envp.data());
    int const code = errno;
    [[maybe_unused]] auto const told = ::write(report, &code, sizeof code);
    ::_exit(127);
}

// What Ctrl-Z does to a job: the shell sees this process stopped, and `fg` continues both.
void child_group::stop_with_it()
{
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    static_cast<void>(::raise(SIGSTOP));
    ::tcsetpgrp(STDIN_FILENO, pid_);
    send(SIGCONT);
}

} // namespace fencelock::cli
