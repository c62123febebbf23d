#include "deadline_watch.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>

#include "unique_fd.hpp"

namespace fencelock::detail {
namespace {

std::pair<unique_fd, unique_fd> socket_pair()
{
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {unique_fd{ends[0]}, unique_fd{ends[1]}};
}

TEST(deadline_watch, a_read_ends_at_its_deadline)
{
    deadline_watch watch;
    auto const [mine, other] = socket_pair();
    deadline_watch::scope const watched{watch, mine.get(), steady::now() + milliseconds{20}};
    char byte = 0;
    EXPECT_EQ(::recv(mine.get(), &byte, 1, 0), 0); // would block for ever
}

TEST(deadline_watch, each_call_has_its_own_deadline)
{
    deadline_watch watch;
    auto const [patient, patients_peer] = socket_pair();
    auto const [hasty, hastys_peer] = socket_pair();
    deadline_watch::scope const long_call{watch, patient.get(),
                                          steady::now() + std::chrono::hours{1}};
    deadline_watch::scope const short_call{watch, hasty.get(), steady::now() + milliseconds{20}};
    char byte = 'x';
    EXPECT_EQ(::recv(hasty.get(), &byte, 1, 0), 0);
    ASSERT_EQ(::send(patients_peer.get(), "y", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(::recv(patient.get(), &byte, 1, 0), 1);
}

TEST(deadline_watch, a_short_call_does_not_wait_for_a_longer_one)
{
    deadline_watch watch;
    auto const [patient, patients_peer] = socket_pair();
    deadline_watch::scope const long_call{watch, patient.get(),
                                          steady::now() + std::chrono::hours{1}};
    for (int i = 0; i < 2; ++i) { // after the first, the watch sleeps until the long one's deadline
        auto const [hasty, hastys_peer] = socket_pair();
        deadline_watch::scope const short_call{watch, hasty.get(),
                                               steady::now() + milliseconds{20}};
        char byte = 0;
        EXPECT_EQ(::recv(hasty.get(), &byte, 1, 0), 0);
    }
}

TEST(deadline_watch, a_call_that_is_over_is_left_alone)
{
    deadline_watch watch;
    auto const [mine, other] = socket_pair();
    {
        deadline_watch::scope const over{watch, mine.get(), steady::now() + milliseconds{1}};
    }
    auto const [later, laters_peer] = socket_pair();
    deadline_watch::scope const next{watch, later.get(), steady::now() + milliseconds{30}};
    char byte = 0;
    EXPECT_EQ(::recv(later.get(), &byte, 1, 0), 0); // by now the first deadline has passed for long
    ASSERT_EQ(::send(other.get(), "y", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(::recv(mine.get(), &byte, 1, MSG_DONTWAIT), 1);
}

} // namespace
} // namespace fencelock::detail
