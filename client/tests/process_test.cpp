// Which process this is, in children too.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "process.hpp"

namespace fencelock::detail {
namespace {

// By the bare system call, of which no library is told.
pid_t forked()
{
    return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

TEST(process_id, is_a_childs_own_however_it_was_forked)
{
    auto const mine = process_id();
    EXPECT_EQ(mine, ::getpid());
    auto const child = forked();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(process_id() == ::getpid() && process_id() != mine ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(process_id(), mine);
}

} // namespace
} // namespace fencelock::detail
