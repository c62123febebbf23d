#include "refusal_memory.hpp"

#include <algorithm>

namespace fencelock::detail {

std::int64_t refusal_memory::above(std::string const& resource) const
{
    std::lock_guard const guard{mutex_};
    auto const known = by_resource_.find(resource);
    return known == by_resource_.end() ? 0 : known->second->above;
}

void refusal_memory::refused(std::string const& resource, std::int64_t above)
{
    std::lock_guard const guard{mutex_};
    if (auto const known = by_resource_.find(resource); known != by_resource_.end()) {
        known->second->above = std::max(known->second->above, above);
        newest_first_.splice(newest_first_.begin(), newest_first_, known->second);
        return;
    }
    newest_first_.push_front({resource, above});
    by_resource_.emplace(resource, newest_first_.begin());
    if (newest_first_.size() > most_) {
        by_resource_.erase(newest_first_.back().resource);
        newest_first_.pop_back();
    }
}

void refusal_memory::granted(std::string const& resource, std::int64_t token)
{
    std::lock_guard const guard{mutex_};
    auto const known = by_resource_.find(resource);
    if (known != by_resource_.end() && token > known->second->above)
        erase(known);
}

void refusal_memory::forget(std::string const& resource)
{
    std::lock_guard const guard{mutex_};
    if (auto const known = by_resource_.find(resource); known != by_resource_.end())
        erase(known);
}

void refusal_memory::erase(index::iterator known)
{
    newest_first_.erase(known->second);
    by_resource_.erase(known);
}

} // namespace fencelock::detail
