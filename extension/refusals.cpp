#include "refusals.hpp"

#include "settings.hpp"
#include "stat.hpp"

namespace fencelock {

namespace {

bool has_own_sqlstate(refusal why)
{
    return why != refusal::not_positive && why != refusal::behind;
}

void count_refusal(refusal why)
{
    switch (why) {
    case refusal::stale:
    case refusal::outclaimed:
    case refusal::pruned:
    case refusal::tied:
    case refusal::retired:
        return count_event(stat_event::stale);
    case refusal::conflict:
        return count_event(stat_event::conflict);
    case refusal::not_issued:
        return count_event(stat_event::not_issued);
    default:
        return;
    }
}

} // namespace

void refuse_token(const verdict& refused, std::string_view resource, const guarded_place* place)
{
    count_refusal(refused.why);
    bool warns = current_enforcement() == enforcement::warn && has_own_sqlstate(refused.why);
    report_refusal(warns ? WARNING : ERROR, refused, resource, place);
}

void refuse_unfenced(bool guard_only_warns, std::string_view resource, const guarded_place& place)
{
    count_event(stat_event::unfenced);
    bool warns = guard_only_warns || current_enforcement() == enforcement::warn;
    report_unfenced(warns ? WARNING : ERROR, resource, place);
}

} // namespace fencelock
