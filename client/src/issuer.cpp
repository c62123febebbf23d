#include <fencelock/issuer.hpp>

namespace fencelock {

issuer::~issuer() = default;

} // namespace fencelock
