// What a failure means once something may have been done.
#pragma once

#include <string>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

/// Others hold the lock, but an earlier request of the same acquire may have been granted unheard.
/// For acquisition, which asks nobody else then, as where others hold it without more ado.
class held_by_others final : public outcome_unknown {
  public:
    using outcome_unknown::outcome_unknown;
};

/// Throws, in the handler of an error, what it means where something that was asked for earlier,
/// and was not answered, may have been done (`is_unknown`): outcome_unknown, whatever the error
/// is; else the error itself. `before`, if any, tells of what was not answered.
[[noreturn]] inline void rethrow_as_unknown(bool is_unknown, std::string const& resource,
                                            std::string const& before = {})
try {
    throw;
} catch (error const& e) {
    bool const says_so = dynamic_cast<outcome_unknown const*>(&e) != nullptr;
    std::string const what{e.what()};
    bool const is_told = before.empty() || what.find(before) != std::string::npos;
    if (!is_unknown || (says_so && is_told))
        throw;
    throw outcome_unknown{is_told ? what : before + "; then " + what, resource, e.token()};
}

} // namespace fencelock::detail
