#include "check.hpp"

#include "claims.hpp"
#include "mark_store.hpp"
#include "resource_name.hpp"

namespace fencelock {

void require_writable(const char* function)
{
    if (!XactReadOnly && !IsInParallelMode() && !RecoveryInProgress())
        return;
    PreventCommandIfReadOnly(function);
    PreventCommandIfParallelMode(function);
    PreventCommandDuringRecovery(function);
}

verdict present_token(const hashed_name& resource, token presented, const text* owner,
                      const place_source* guard)
{
    if (presented < 1)
        return {refusal::not_positive, presented, no_token};
    claim& claimed = claim_for(resource);
    if (presented < claimed.presented)
        return {refusal::outclaimed, presented, claimed.presented};
    if (claimed.enforced && presented == claimed.presented) {
        if (owner == nullptr)
            return {refusal::none, presented, no_token};
        if (claimed.owner != nullptr)
            return {view_of(owner) == claimed.owner ? refusal::none : refusal::conflict, presented,
                    no_token};
    }
    bool siblings_unseen = claimed.siblings_unseen;
    verdict outcome = present_to_mark(resource, presented, owner, guard, siblings_unseen);
    if (outcome.why == refusal::none)
        note_claim(claimed, presented, owner, true, siblings_unseen);
    return outcome;
}

} // namespace fencelock
