// Constructors and the destructors that anchor each class's type information in the library.
#include <fencelock/errors.hpp>

#include <utility>

namespace fencelock {

error::error(std::string const& what, std::string resource, std::int64_t token)
    : std::runtime_error{what}, resource_{std::move(resource)}, token_{token}
{
}

stale_token::stale_token(std::string const& what, std::string resource, std::int64_t token,
                         std::int64_t mark)
    : error{what, std::move(resource), token}, mark_{mark}
{
}

outcome_unknown::outcome_unknown(std::string const& what, std::string resource, std::int64_t token,
                                 std::string receipt)
    : error{what, std::move(resource), token}, receipt_{std::move(receipt)}
{
}

error::~error() = default;
stale_token::~stale_token() = default;
token_required::~token_required() = default;
token_conflict::~token_conflict() = default;
token_not_issued::~token_not_issued() = default;
lock_timeout::~lock_timeout() = default;
lock_lost::~lock_lost() = default;
outcome_unknown::~outcome_unknown() = default;
issuer_unavailable::~issuer_unavailable() = default;
configuration_error::~configuration_error() = default;
invalid_argument::~invalid_argument() = default;

} // namespace fencelock
