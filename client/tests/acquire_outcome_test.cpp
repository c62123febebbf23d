// What an acquire says in the end, after an issuer's answers one by one: nothing definite where one
// of them may have granted the lease unheard.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <vector>

#include "memory_issuer.hpp"

namespace fencelock::test {
namespace {

using step = std::function<std::optional<grant>(lease_request const&)>;

// Answers each request by the next step; with the last one the wait is over.
class scripted_issuer final : public memory_issuer {
  public:
    explicit scripted_issuer(std::vector<step> steps) : steps_{std::move(steps)} {}

    std::optional<grant> try_acquire(lease_request const& request) override
    {
        auto const& now = steps_.at(asked_++);
        if (asked_ == steps_.size())
            over_.request_stop();
        return now(request);
    }

    std::stop_token over() const { return over_.get_token(); }
    std::size_t asked() const { return asked_; }

  private:
    std::vector<step> const steps_;
    std::size_t asked_ = 0;
    std::stop_source over_;
};

std::optional<grant> grants(lease_request const&)
{
    return grant{2, 2, memory_issuer::clock::now()};
}

// The answer comes when its TTL is over.
std::optional<grant> grants_too_late(lease_request const& request)
{
    return grant{1, 1, memory_issuer::clock::now() - request.ttl};
}

template <typename Error>
std::optional<grant> fails(lease_request const& request)
{
    throw Error{"this step fails", request.resource};
}

std::optional<grant> is_held_by_others(lease_request const&)
{
    return std::nullopt;
}

class acquire_outcomes : public ::testing::Test {
  protected:
    std::optional<lock> after(std::vector<step> steps)
    {
        issuer = std::make_shared<scripted_issuer>(std::move(steps));
        client locks{issuer, shared_postgres().conninfo()};
        return locks.try_acquire("r", {.ttl = 1h, .wait = 300s, .stop = issuer->over()});
    }

    std::shared_ptr<scripted_issuer> issuer;
};

TEST_F(acquire_outcomes, stay_unknown_whatever_fails_afterwards)
{
    for (auto const& next : {step{fails<outcome_unknown>},
                             {fails<issuer_unavailable>},
                             {fails<configuration_error>},
                             {fails<invalid_argument>},
                             {fails<lock_lost>}}) {
        EXPECT_THROW(after({fails<outcome_unknown>, next}), outcome_unknown);
        EXPECT_EQ(issuer->asked(), 2U);
    }
}

TEST_F(acquire_outcomes, tell_what_was_not_answered_and_what_came_then)
{
    auto const silence = [](lease_request const&) -> std::optional<grant> {
        throw outcome_unknown{"silence"};
    };
    try {
        after({silence, fails<configuration_error>});
        FAIL();
    } catch (outcome_unknown const& e) {
        EXPECT_STREQ(e.what(), "the lock of \"r\": silence; then this step fails");
        EXPECT_EQ(e.resource(), "r");
    }
}

TEST_F(acquire_outcomes, are_settled_by_the_issuer_that_did_not_answer)
{
    EXPECT_FALSE(after({fails<outcome_unknown>, is_held_by_others}));
    EXPECT_THROW(after({fails<outcome_unknown>, is_held_by_others, fails<issuer_unavailable>}),
                 issuer_unavailable);
    EXPECT_THROW(after({is_held_by_others, fails<outcome_unknown>}), outcome_unknown);
}

TEST_F(acquire_outcomes, that_came_too_late_are_tried_again_while_there_is_time)
{
    auto const taken = after({grants_too_late, fails<outcome_unknown>, grants});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->token(), 2);
    EXPECT_TRUE(issuer->is_released(1));
    EXPECT_THROW(after({grants_too_late}), lock_lost);
}

// Renews nothing, and does not say so.
class silent_issuer final : public memory_issuer {
    void while_renewing(held_lease const&, clock::time_point) override
    {
        throw outcome_unknown{"no answer"};
    }
};

TEST_F(acquire_outcomes, of_a_lease_that_ran_out_while_it_was_confirmed_is_its_loss)
{
    auto const silent = std::make_shared<silent_issuer>();
    client locks{silent, shared_postgres().conninfo(), {.attempt_timeout = 300s}};
    auto const resource = new_resource();
    auto const former = locks.acquire(resource, {.ttl = 1h}).token();
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work older{connection}; // is waited for by the newer token's claim
    older.exec("SELECT \"Fence it\".fence_check('" + resource + "', " + std::to_string(former) +
               ")");
    auto acquired = std::async(std::launch::async, [&] {
        return locks.try_acquire(resource, {.ttl = 2s, .confirm = true});
    });
    EXPECT_TRUE(wait_until([&] { return locks.counters().lost == 1; }));
    older.commit();
    EXPECT_THROW(acquired.get(), lock_lost);
    EXPECT_TRUE(wait_until([&] { return silent->is_released(former + 1); }));
}

} // namespace
} // namespace fencelock::test
