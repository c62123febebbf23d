#include "operation.hpp"

#include <thread>
#include <utility>

namespace torture {

namespace {

bool may_go_on(outcome what)
{
    return what == outcome::committed || what == outcome::rolled_back || what == outcome::aborted;
}

std::string_view name_of(fencelock::release_outcome what)
{
    switch (what) {
    case fencelock::release_outcome::released:
        return "released";
    case fencelock::release_outcome::not_held:
        return "not_held";
    case fencelock::release_outcome::unknown:
        break;
    }
    return "unknown";
}

std::string_view name_of(fencelock::commit_outcome what)
{
    switch (what) {
    case fencelock::commit_outcome::committed:
        return "committed";
    case fencelock::commit_outcome::aborted:
        return "aborted";
    case fencelock::commit_outcome::in_progress:
        return "in progress";
    case fencelock::commit_outcome::unknown:
        break;
    }
    return "unknown";
}

char const* kind_of(std::exception const& e)
{
    if (dynamic_cast<fencelock::stale_token const*>(&e))
        return "stale_token";
    if (dynamic_cast<fencelock::token_conflict const*>(&e))
        return "token_conflict";
    if (dynamic_cast<fencelock::token_not_issued const*>(&e))
        return "token_not_issued";
    if (dynamic_cast<fencelock::issuer_unavailable const*>(&e))
        return "issuer_unavailable";
    if (dynamic_cast<fencelock::outcome_unknown const*>(&e))
        return "outcome_unknown";
    if (dynamic_cast<fencelock::lock_lost const*>(&e))
        return "lock_lost";
    return "other";
}

} // namespace

clients::clients(options const& chosen)
{
    fencelock::client_options how;
    how.attempt_timeout = std::chrono::milliseconds{800};
    fencelock::redis_options with;
    with.connect_timeout = std::chrono::milliseconds{300};
    with.command_timeout = std::chrono::milliseconds{300};
    with.block_size = 50; // so that blocks are used up often
    for (auto const& [group, url] : chosen.redis) {
        redis_[group] = std::make_unique<fencelock::redis_locks>(url, with);
        clients_[group] = std::make_unique<fencelock::client>(*redis_[group], chosen.database, how);
    }
    for (auto const& [group, urls] : chosen.redlock) {
        redlock_[group] = std::make_unique<fencelock::redlock_locks>(urls, with);
        clients_[group] =
            std::make_unique<fencelock::client>(*redlock_[group], chosen.database, how);
    }
    clients_["db"] = std::make_unique<fencelock::client>(chosen.database, how);
}

void operation::run()
{
    log_.write(about("acquire")
                   .add("group", plan_.group)
                   .add("resource", plan_.resource)
                   .add("other", plan_.other)
                   .add("ttl", plan_.ttl.count())
                   .add("wait", plan_.wait.count())
                   .add("confirm", plan_.confirm)
                   .add("renew", plan_.renew));
    if (plan_.other.empty())
        with_one();
    else
        with_two();
}

fencelock::acquire_options operation::acquiring() const
{
    fencelock::acquire_options how;
    how.ttl = plan_.ttl;
    how.wait = plan_.wait;
    how.confirm = plan_.confirm;
    how.renew = plan_.renew;
    if (plan_.owner)
        how.owner = name_;
    // May come from the renewing thread when the operation has already ended.
    how.on_lost = [&log = log_, name = name_](fencelock::lock_lost const& e) {
        log.write(event{"lost"}.add("op", name).add("token", e.token()).add("what", e.what()));
    };
    return how;
}

// What is taken, or nothing; written down either way.
template <typename Take>
auto operation::told(Take take) -> decltype(take())
try {
    auto taken = take();
    if (!taken)
        log_.write(about("busy"));
    return taken;
} catch (std::exception const& e) {
    log_.write(about("not_granted").add("error", kind_of(e)).add("what", e.what()));
    return {};
}

void operation::with_one()
{
    auto lock =
        told([&] { return clients_.of(plan_.group).try_acquire(plan_.resource, acquiring()); });
    if (!lock)
        return;
    granted(*lock);
    std::this_thread::sleep_for(plan_.before_first);
    int number = 0;
    for (auto const& tx : plan_.transactions) {
        auto const name = name_ + "." + std::to_string(number++);
        transaction_run run{log_, own_, tx, name, plan_.confirm};
        auto const what = run.run(*lock);
        if (what == outcome::unknown)
            ask(run, name);
        if (!may_go_on(what))
            break;
    }
    finish(*lock);
}

void operation::with_two()
{
    auto locks = told([&] {
        return clients_.of(plan_.group).try_acquire({plan_.resource, plan_.other}, acquiring());
    });
    if (!locks)
        return;
    for (auto const& lock : locks->locks())
        granted(lock);
    std::this_thread::sleep_for(plan_.before_first);
    int number = 0;
    for (auto const& tx : plan_.transactions) {
        auto const name = name_ + "." + std::to_string(number++);
        transaction_run run{log_, own_, tx, name, plan_.confirm};
        auto const what = run.run(*locks, plan_);
        if (what == outcome::unknown)
            ask(run, name);
        if (!may_go_on(what))
            break;
    }
    for (auto& lock : locks->locks())
        finish(lock);
}

// What became of a commit that was not answered.
void operation::ask(transaction_run const& run, std::string const& tx)
{
    if (run.receipt().empty())
        return;
    try {
        auto const what = clients_.of(plan_.group).outcome(run.receipt());
        log_.write(event{"asked"}.add("tx", tx).add("outcome", name_of(what)));
    } catch (fencelock::error const&) { // nobody can be asked now
    }
}

void operation::granted(fencelock::lock const& lock)
{
    log_.write(about("granted")
                   .add("resource", lock.resource())
                   .add("token", lock.token())
                   .add("owner", lock.owner())
                   .add("issuer", lock.issuer_name()));
}

void operation::finish(fencelock::lock& lock)
{
    auto const resource = lock.resource();
    log_.write(about("release").add("resource", resource));
    if (plan_.end == ending::detach && lock.held()) {
        try {
            lock.detach();
            log_.write(about("detached").add("resource", resource));
            return;
        } catch (fencelock::lock_lost const&) { // between the look and this: release it
        }
    }
    if (plan_.end == ending::destroy) {
        {
            auto const gone = std::move(lock);
        }
        log_.write(about("destroyed").add("resource", resource));
        return;
    }
    log_.write(about("released").add("resource", resource).add("outcome", name_of(lock.release())));
}

} // namespace torture
