// Counters as Prometheus reads them.
#include <fencelock/observation.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace fencelock::test {
namespace {

constexpr client_counters one_to_ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

TEST(prometheus_text, each_counter_has_its_value_a_type_and_a_help)
{
    std::istringstream lines{prometheus_text(one_to_ten)};
    std::string line;
    for (std::string const expected :
         {"acquired_total 1", "contended_total 2", "waits_total 3", "released_total 4",
          "lost_total 5", "refused_total 6", "renewals_total 7", "failed_renewals_total 8",
          "seeds_total 9", "fallbacks_total 10"}) {
        auto const sample = "fencelock_client_" + expected;
        auto const name = sample.substr(0, sample.find(' '));
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_TRUE(line.starts_with("# HELP " + name + ' ')) << line;
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_EQ(line, "# TYPE " + name + " counter");
        ASSERT_TRUE(std::getline(lines, line));
        EXPECT_EQ(line, sample);
    }
    EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(prometheus_text, the_counters_of_several_clients_add_up)
{
    auto const sums = one_to_ten + one_to_ten;
    EXPECT_EQ(sums.acquired, 2U);
    EXPECT_EQ(sums.failed_renewals, 16U);
    EXPECT_EQ(sums.fallbacks, 20U);
}

} // namespace
} // namespace fencelock::test
