#include "core.hpp"

#include <utility>

namespace fencelock::detail {

core::core(std::vector<std::shared_ptr<issuer>> issuers_in_order, std::shared_ptr<database> db_,
           client_options const& options_, std::shared_ptr<detail::observer> observer_)
    : issuers{std::move(issuers_in_order)}, db{std::move(db_)}, options{options_},
      observer{std::move(observer_)}, refusals{options_.remembered_refusals}, pid_{process_id()}
{
}

} // namespace fencelock::detail
