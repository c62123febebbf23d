#include "redis_topology.hpp"

#include "redis_cluster.hpp"
#include "redis_sentinels.hpp"

namespace fencelock::detail {

namespace {

class single_server final : public redis_topology {
  public:
    explicit single_server(redis_address address) : address_{std::move(address)} {}

    redis_address server_for(std::string_view, steady::time_point) override { return address_; }
    void doubt(redis_address const&) override {} // there is no other
    std::string place() const override { return address_.display(); }

  private:
    redis_address const address_;
};

} // namespace

std::optional<redis_address> redis_topology::redirected(redirection const&, redis_address const&)
{
    return std::nullopt;
}

std::unique_ptr<redis_topology> make_topology(redis_target const& target,
                                              redis_connector const& connector)
{
    switch (target.what) {
    case redis_target::kind::sentinels:
        return std::make_unique<redis_sentinels>(target, connector);
    case redis_target::kind::cluster:
        return std::make_unique<redis_cluster>(target, connector);
    case redis_target::kind::server:
        break;
    }
    return std::make_unique<single_server>(target.servers.at(0));
}

} // namespace fencelock::detail
