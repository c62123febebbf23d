#include "redis_route.hpp"

#include "redis_fault.hpp"

namespace fencelock::detail {

namespace {

constexpr milliseconds pause_before_repeat{20};

// More in a row mean that the nodes of a cluster disagree for now.
constexpr int redirections_at_once = 5;

} // namespace

std::unique_ptr<redis_link> redis_route::take(steady::time_point deadline)
{
    bool const once = std::exchange(next_once_, false);
    tried_ = std::exchange(next_, std::nullopt);
    if (!tried_)
        tried_ = pool_.topology().server_for(key_, deadline);
    auto link = pool_.take(*tried_, deadline);
    link->ask_before_commands(once);
    return link;
}

bool redis_route::goes_on(link_failure const& failure, steady::time_point deadline)
{
    note(failure.what());
    return found_elsewhere(deadline);
}

bool redis_route::goes_on(redis_error const& error, steady::time_point deadline)
{
    note(told_by_reply(error.what()));
    if (auto const to = redirection_of(error.what()); to && tried_) {
        next_ = pool_.topology().redirected(*to, *tried_);
        next_once_ = next_ && to->once;
        ++redirections_;
        return next_.has_value();
    }
    redirections_ = 0;
    if (passes_at_once(error.what()))
        return true;
    return is_of_server(error.what()) && found_elsewhere(deadline);
}

milliseconds redis_route::pause() const
{
    bool const at_once = next_ && redirections_ <= redirections_at_once;
    return at_once ? milliseconds{0} : pause_before_repeat;
}

// Asks anew where to go: true where that is not the server that was tried.
bool redis_route::found_elsewhere(steady::time_point deadline)
try {
    if (!tried_)
        return false;
    pool_.doubt(*tried_);
    return !pool_.topology().server_for(key_, deadline).is_same_server(*tried_);
} catch (std::exception const&) { // nobody knows: the trouble stays what it was
    return false;
}

void redis_route::note(std::string const& what)
{
    bool const is_told_by_place = !tried_ || tried_->display() == pool_.place();
    trouble_ = is_told_by_place ? what : what + " (" + tried_->display() + ")";
}

} // namespace fencelock::detail
