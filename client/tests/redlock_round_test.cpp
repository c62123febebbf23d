// When a round is over, and which answers count in it. That it does not wait for more is seen by
// deadlines that no test would live to see.
#include "redlock_round.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace fencelock::detail {
namespace {

using namespace std::chrono_literals;

server_answer saying(std::string const& word)
{
    server_answer answer;
    answer.words = {word};
    return answer;
}

class redlock_round_test : public ::testing::Test {
  protected:
    redlock_round round{5, 3, [](server_answer const& answer) { return answer.says("YES"); }};
    steady::time_point const never = steady::now() + std::chrono::hours{24};

    void expect_all(bool is_worth_waiting)
    {
        for (std::size_t i = 0; i < 5; ++i)
            round.expect(i, is_worth_waiting);
    }
};

TEST_F(redlock_round_test, ends_with_a_quorum)
{
    expect_all(false);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(round.hand_in(i, saying("YES")));
    auto const answers = round.close(never);
    EXPECT_TRUE(answers[0] && answers[1] && answers[2]);
    EXPECT_FALSE(answers[3] || answers[4]);
}

TEST_F(redlock_round_test, ends_when_no_quorum_can_be_reached)
{
    expect_all(false);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(round.hand_in(i, saying("NO")));
    EXPECT_TRUE(round.close(never)[2]->says("NO"));
}

TEST_F(redlock_round_test, goes_on_while_a_quorum_can_be_reached)
{
    expect_all(false);
    round.hand_in(0, saying("YES"));
    round.hand_in(1, saying("NO"));
    round.hand_in(2, saying("YES"));
    round.hand_in(3, saying("NO"));
    std::thread last{[&] { EXPECT_TRUE(round.hand_in(4, saying("YES"))); }};
    auto const answers = round.close(never);
    last.join();
    EXPECT_TRUE(answers[4] && answers[4]->says("YES"));
}

TEST_F(redlock_round_test, counts_only_those_who_are_asked)
{
    for (std::size_t i = 0; i < 3; ++i)
        round.expect(i, true);
    round.hand_in(0, saying("YES"));
    round.hand_in(1, saying("NO"));
    EXPECT_FALSE(round.close(never)[2]); // a quorum would need all three
}

TEST_F(redlock_round_test, an_answer_after_the_end_is_told_that_it_does_not_count)
{
    expect_all(false);
    for (std::size_t i = 0; i < 3; ++i)
        round.hand_in(i, saying("YES"));
    round.close(never);
    EXPECT_FALSE(round.hand_in(3, saying("YES")));
}

TEST_F(redlock_round_test, ends_at_its_deadline)
{
    expect_all(true);
    round.hand_in(0, saying("YES"));
    auto const answers = round.close(steady::now() + 1ms);
    EXPECT_TRUE(answers[0]);
    EXPECT_FALSE(answers[1]);
}

} // namespace
} // namespace fencelock::detail
