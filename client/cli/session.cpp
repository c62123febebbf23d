#include "session.hpp"

namespace fencelock::cli {

session::session(arguments const& given) : given_{given}
{
    if (given.redis.empty()) {
        client_ = std::make_unique<fencelock::client>(*given.db);
        return;
    }
    redis_options const options{.keys = given.keys};
    if (given.redis.size() == 1)
        redis_.emplace(given.redis.front(), options);
    else
        redlock_.emplace(given.redis, options);
    if (given.db && redlock_)
        client_ = std::make_unique<fencelock::client>(*redlock_, *given.db);
    else if (given.db)
        client_ = std::make_unique<fencelock::client>(*redis_, *given.db);
    else if (given.keys == key_preset::plain)
        client_ = std::make_unique<fencelock::client>(*redis_);
    else
        throw issuer_unavailable{"tokens are reserved in PostgreSQL, and there is no database: "
                                 "give --db CONNINFO" +
                                 std::string{redlock_ ? "" : ", or use --keys plain"}};
}

acquire_options session::options() const
{
    return {.ttl = given_.ttl,
            .wait = given_.wait,
            .confirm = given_.confirm && given_.db.has_value(),
            .owner = given_.owner};
}

} // namespace fencelock::cli
