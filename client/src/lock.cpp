#include <fencelock/lock.hpp>

#include <new>
#include <utility>

#include <fencelock/detail/pqxx_compat.hpp>

#include "lease.hpp"
#include "limits.hpp"

namespace fencelock {

namespace {

// In a forked child the lease is the parent's: it is neither released nor destroyed.
void let_go(std::shared_ptr<detail::lease> lease) noexcept
{
    if (!lease)
        return;
    if (lease->shared().belongs_to_this_process()) {
        lease->release();
        lease->end_what_is_left();
    } else {
        new (std::nothrow) std::shared_ptr<detail::lease>{std::move(lease)};
    }
}

} // namespace

lock::lock(std::shared_ptr<detail::lease> lease) noexcept : lease_{std::move(lease)} {}

lock::lock(lock&& other) noexcept = default;

lock& lock::operator=(lock&& other) noexcept
{
    if (this != &other)
        let_go(std::exchange(lease_, std::move(other.lease_)));
    return *this;
}

lock::~lock()
{
    let_go(std::move(lease_));
}

std::string const& lock::resource() const
{
    return lease().id().resource;
}

std::int64_t lock::token() const
{
    return lease().id().token;
}

std::string const& lock::owner() const
{
    return lease().id().owner;
}

std::string_view lock::issuer_name() const
{
    return lease().granted_by().name();
}

std::chrono::steady_clock::time_point lock::valid_until() const
{
    auto& mine = lease();
    if (!mine.shared().belongs_to_this_process())
        return {};
    return mine.valid_until();
}

bool lock::held() const noexcept
try {
    return lease_ && lease_->shared().belongs_to_this_process() && lease_->held();
} catch (...) { // no memory to tell that it is over, which it is
    return false;
}

std::stop_token lock::stop_token() const
{
    return lease().stop_token();
}

bool lock::renew()
{
    return usable().renew();
}

release_outcome lock::release() noexcept
{
    if (!lease_ || !lease_->shared().belongs_to_this_process())
        return release_outcome::not_held;
    return lease_->release();
}

held_lease lock::detach()
{
    return usable().detach();
}

void lock::confirm(std::chrono::milliseconds limit)
{
    auto& mine = usable();
    detail::check_timeout(limit, "the limit of confirm()");
    mine.confirm(detail::steady::now() + limit);
}

void lock::claim(pqxx::transaction_base& tx)
{
    auto& mine = usable();
    mine.require_held();
    auto const& id = mine.id();
    try {
        auto const schema = mine.shared().db->schema_for(tx);
        detail::exec(tx, "SELECT " + schema + ".fence_check($1, $2, $3)", id.resource, id.token,
                     id.owner);
    } catch (std::exception const& e) {
        mine.rethrow_refusal(e);
        throw;
    }
}

stamp lock::stamp(std::string_view column) const
{
    lease(); // throws where there is none
    return {lease_, column};
}

detail::lease& lock::lease() const
{
    if (!lease_)
        throw lock_lost{"this handle holds no lock: it was moved from"};
    return *lease_;
}

detail::lease& lock::usable() const
{
    auto& mine = lease();
    if (!mine.shared().belongs_to_this_process())
        throw lock_lost{"the lock of \"" + mine.id().resource +
                            "\" is the parent's: a forked child has to acquire its own",
                        mine.id().resource, mine.id().token};
    return mine;
}

} // namespace fencelock
