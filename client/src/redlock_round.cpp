#include "redlock_round.hpp"

#include <algorithm>
#include <utility>

namespace fencelock::detail {

namespace {

// Who answers a little later than a quorum has its part in the lease, too: it is waited for as long
// again as the quorum took, or this long.
constexpr milliseconds least_grace{50};

// For jobs to say that there was no answer in time.
constexpr milliseconds to_tell{10};

} // namespace

redlock_round::redlock_round(std::size_t servers, std::size_t quorum, vote_counter counts)
    : quorum_{quorum}, counts_{std::move(counts)}, answers_(servers), worth_waiting_(servers)
{
}

void redlock_round::expect(std::size_t server, bool is_worth_waiting)
{
    std::lock_guard const guard{mutex_};
    ++outstanding_;
    worth_waiting_[server] = is_worth_waiting;
}

bool redlock_round::hand_in(std::size_t server, server_answer const& answer)
{
    {
        std::lock_guard const guard{mutex_};
        if (closed_)
            return false;
        answers_[server] = answer;
        --outstanding_;
        worth_waiting_[server] = false;
        votes_ += counts_(answer) ? 1 : 0;
    }
    changed_.notify_one();
    return true;
}

server_answers redlock_round::close(steady::time_point deadline)
{
    auto const start = steady::now();
    auto const last = deadline + to_tell;
    std::unique_lock guard{mutex_};
    changed_.wait_until(guard, last, [this] { return decided(); });
    auto const now = steady::now();
    auto const grace = std::max<steady::duration>(now - start, least_grace);
    changed_.wait_until(guard, std::min(last, now + grace), [this] {
        return std::find(worth_waiting_.begin(), worth_waiting_.end(), true) ==
               worth_waiting_.end();
    });
    closed_ = true;
    return answers_;
}

bool redlock_round::decided() const
{
    return votes_ >= quorum_ || votes_ + outstanding_ < quorum_;
}

} // namespace fencelock::detail
