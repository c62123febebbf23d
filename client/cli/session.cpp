#include "session.hpp"

#include <mutex>

#include "messages.hpp"

namespace fencelock::cli {

// Handles and their threads may outlive the session.
struct session::last_warning {
    std::mutex mutex;
    std::string text;
};

session::session(arguments const& given) : given_{given}, warning_{std::make_shared<last_warning>()}
{
    if (given.redis.empty()) {
        client_ = std::make_unique<fencelock::client>(*given.db);
        return;
    }
    client_options options;
    options.log = [warning = warning_](log_entry const& entry) {
        if (entry.level != log_level::warning || entry.resource.empty())
            return; // what is told of a server comes when it likes
        std::lock_guard const guard{warning->mutex};
        warning->text = entry.message;
    };
    redis_options const of_redis{.keys = given.keys};
    if (given.redis.size() == 1)
        redis_.emplace(given.redis.front(), of_redis);
    else
        redlock_.emplace(given.redis, of_redis);
    if (given.db && redlock_)
        client_ = std::make_unique<fencelock::client>(*redlock_, *given.db, options);
    else if (given.db)
        client_ = std::make_unique<fencelock::client>(*redis_, *given.db, options);
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

void session::tell_fallback(lock const& held) const
{
    if (given_.redis.empty() || held.issuer_name() != "database")
        return;
    std::lock_guard const guard{warning_->mutex}; // the last thing told was that it fell back
    say(warning_->text);
}

} // namespace fencelock::cli
