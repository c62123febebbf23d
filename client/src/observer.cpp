#include "observer.hpp"

namespace fencelock::detail {

void observer::tell(log_level level, std::string_view message, std::string_view resource,
                    std::int64_t token) noexcept
try {
    if (log_)
        log_({level, std::string{message}, std::string{resource}, token});
} catch (...) { // as client_options::log is documented
}

client_counters observer::counters() const noexcept
{
    return {acquired, contended, waits,           released, lost,
            refused,  renewals,  failed_renewals, seeds,    fallbacks};
}

} // namespace fencelock::detail
