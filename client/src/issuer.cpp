#include <fencelock/issuer.hpp>

#include "pause.hpp"

namespace fencelock {

namespace {

class polling_waiter final : public waiter {
  public:
    void wait(std::chrono::steady_clock::time_point until, std::stop_token const& stop) override
    {
        detail::pause_until(std::min(until, detail::steady::now() + detail::retry_pause()), stop);
    }
};

} // namespace

waiter::~waiter() = default;

issuer::~issuer() = default;

std::unique_ptr<waiter> issuer::new_waiter(std::string const&)
{
    return std::make_unique<polling_waiter>();
}

std::string issuer::server_for(std::string const&) const
{
    return {};
}

} // namespace fencelock
