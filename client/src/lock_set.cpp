#include <fencelock/lock_set.hpp>

#include <algorithm>

#include <fencelock/errors.hpp>

#include "clock.hpp"
#include "limits.hpp"

namespace fencelock {

lock_set::lock_set(std::vector<lock> locks, std::stop_source lost)
    : locks_{std::move(locks)}, lost_{std::move(lost)}
{
}

lock_set::lock_set(lock_set&& other) noexcept = default;

lock_set& lock_set::operator=(lock_set&& other) noexcept
{
    if (this != &other) {
        release_backwards();
        locks_ = std::move(other.locks_);
        lost_ = std::move(other.lost_);
    }
    return *this;
}

lock_set::~lock_set()
{
    release_backwards();
}

std::int64_t lock_set::token(std::string_view resource) const
{
    for (auto const& one : locks_)
        if (one.resource() == resource)
            return one.token();
    throw invalid_argument{"\"" + std::string{resource} + "\" is not among the resources locked",
                           std::string{resource}};
}

bool lock_set::held() const noexcept
{
    return !locks_.empty() &&
           std::all_of(locks_.begin(), locks_.end(), [](auto const& one) { return one.held(); });
}

std::chrono::steady_clock::time_point lock_set::valid_until() const
{
    using time_point = std::chrono::steady_clock::time_point;
    auto first = locks_.empty() ? time_point{} : time_point::max();
    for (auto const& one : locks_)
        first = std::min(first, one.valid_until());
    return first;
}

bool lock_set::renew()
{
    bool all = !locks_.empty();
    for (auto& one : locks_)
        all = one.renew() && all;
    return all;
}

release_outcome lock_set::release() noexcept
{
    auto worst = locks_.empty() ? release_outcome::not_held : release_outcome::released;
    for (auto one = locks_.rbegin(); one != locks_.rend(); ++one)
        worst = std::max(worst, one->release());
    return worst;
}

void lock_set::confirm(std::chrono::milliseconds limit)
{
    detail::check_timeout(limit, "the limit of confirm()");
    auto const deadline = detail::steady::now() + limit;
    for (auto& one : locks_)
        one.confirm(std::max(detail::until(deadline), std::chrono::milliseconds{1}));
}

void lock_set::claim(pqxx::transaction_base& tx)
{
    for (auto& one : locks_)
        one.claim(tx);
}

void lock_set::release_backwards() noexcept
{
    while (!locks_.empty())
        locks_.pop_back();
}

} // namespace fencelock
