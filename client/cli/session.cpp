#include "session.hpp"

#include "redis_pool.hpp"
#include "redis_url.hpp"

namespace fencelock::cli {

session::session(arguments const& given) : given_{given}
{
    if (!given.redis) {
        client_ = std::make_unique<fencelock::client>(*given.db);
        return;
    }
    redis_.emplace(*given.redis, redis_options{.keys = given.keys});
    if (given.db)
        client_ = std::make_unique<fencelock::client>(*redis_, *given.db);
    else if (given.keys == key_preset::plain)
        client_ = std::make_unique<fencelock::client>(*redis_);
    else
        throw issuer_unavailable{"tokens are reserved in PostgreSQL, and there is no database: "
                                 "give --db CONNINFO, or use --keys plain"};
}

acquire_options session::options() const
{
    return {.ttl = given_.ttl,
            .wait = given_.wait,
            .confirm = given_.confirm && given_.db.has_value(),
            .owner = given_.owner};
}

std::shared_ptr<detail::redis_pool> redis_for_looking(arguments const& given)
{
    return std::make_shared<detail::redis_pool>(detail::parse_redis_url(*given.redis),
                                                redis_options{.keys = given.keys});
}

} // namespace fencelock::cli
