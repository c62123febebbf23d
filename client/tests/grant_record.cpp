#include "grant_record.hpp"

#include <gtest/gtest.h>

namespace fencelock::test {

void grant_record::granted(lock const& what)
{
    auto const [known, is_new] = owners_.emplace(what.token(), what.owner());
    EXPECT_TRUE(is_new || known->second == what.owner())
        << "token " << what.token() << " of " << what.resource() << " was granted twice";
}

bool grant_record::claimed(lock& what)
try {
    auto const token = what.token();
    what.confirm();
    EXPECT_GE(token, highest_claim_) << "a token below a claimed one was accepted";
    highest_claim_ = std::max(highest_claim_, token);
    return true;
} catch (stale_token const&) {
    return false;
} catch (lock_lost const&) {
    return false;
}

} // namespace fencelock::test
