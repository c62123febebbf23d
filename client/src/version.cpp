#include <fencelock/version.hpp>

namespace fencelock {

char const* version() noexcept
{
    return FENCELOCK_VERSION;
}

} // namespace fencelock
