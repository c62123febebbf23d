#include "exit_code.hpp"

#include <iostream>

#include <fencelock/errors.hpp>

#include "messages.hpp"

namespace fencelock::cli {

namespace {

template <typename... Classes>
bool is_any(std::exception const& e)
{
    return (dynamic_cast<Classes const*>(&e) || ...);
}

exit_code code_of(std::exception const& e)
{
    if (is_any<usage_error, invalid_argument>(e))
        return usage;
    if (is_any<issuer_unavailable>(e))
        return unavailable;
    if (is_any<lock_timeout>(e))
        return not_acquired;
    if (is_any<lock_lost>(e))
        return not_ours;
    if (is_any<stale_token, token_conflict, token_not_issued>(e))
        return refused;
    return failed;
}

} // namespace

int report(std::exception const& e)
{
    auto const code = code_of(e);
    say(e.what());
    if (is_any<usage_error>(e))
        std::cerr << "Try 'fencelock --help'.\n";
    return code;
}

} // namespace fencelock::cli
