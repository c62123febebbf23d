#include "terminal_program.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "support/wait_until.hpp"

namespace fencelock::test {

namespace {

constexpr std::array<std::string_view, 4> unset{"FENCELOCK_", "PG", "TERM=", "NO_COLOR="};

bool is_unset(std::string_view entry)
{
    return std::any_of(unset.begin(), unset.end(),
                       [&](auto const prefix) { return entry.starts_with(prefix); });
}

std::vector<char*> pointers_to(std::vector<std::string>& words)
{
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (auto& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

} // namespace

terminal_program::terminal_program(std::vector<std::string> const& arguments,
                                   std::vector<std::string> const& environment)
{
    auto entries = environment;
    for (char** entry = environ; *entry; ++entry)
        if (!is_unset(*entry))
            entries.emplace_back(*entry);
    std::vector<std::string> words{FENCELOCK_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    auto const argv = pointers_to(words);
    auto const envp = pointers_to(entries);
    winsize window{};
    window.ws_row = 24;
    window.ws_col = 80;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &window);
    if (pid_ == 0) {
        ::execve(FENCELOCK_PROGRAM, argv.data(), envp.data());
        ::_exit(127);
    }
    EXPECT_GT(pid_, 0);
}

terminal_program::~terminal_program()
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(terminal_);
}

void terminal_program::type(std::string const& keys) const
{
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool terminal_program::says(std::string const& text)
{
    while (said_.find(text) == std::string::npos)
        if (!read_more())
            return false;
    return true;
}

terminal_outcome terminal_program::wait()
{
    while (read_more()) {
    }
    int status = -1;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said_};
}

// False at its end, and where it has nothing to say for too long.
bool terminal_program::read_more()
{
    pollfd one{terminal_, POLLIN, 0};
    auto const limit = std::chrono::milliseconds{test_support::generous_limit}.count();
    if (::poll(&one, 1, static_cast<int>(limit)) <= 0) {
        ADD_FAILURE() << "it says nothing and does not end: " << said_;
        ::kill(pid_, SIGKILL);
        return false;
    }
    std::array<char, 4096> bytes;
    auto const got = ::read(terminal_, bytes.data(), bytes.size());
    if (got <= 0) // EIO: everybody has closed it
        return false;
    said_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
}

} // namespace fencelock::test
