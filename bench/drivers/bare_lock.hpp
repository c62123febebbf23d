// A lock as one writes it on bare hiredis: SET NX PX and INCR in one script, compare-and-delete in
// another.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <hiredis/hiredis.h>

namespace bench {

struct hiredis_deleter {
    void operator()(redisContext* connection) const noexcept { redisFree(connection); }
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

using redis_connection = std::unique_ptr<redisContext, hiredis_deleter>;
using redis_answer = std::unique_ptr<redisReply, hiredis_deleter>;

inline redis_connection connect(int port)
{
    redis_connection connection{redisConnect("127.0.0.1", port)};
    if (!connection || connection->err)
        throw std::runtime_error{"no connection to Redis"};
    return connection;
}

/// As redisCommand. Throws where there is no answer, or an error.
template <typename... Arguments>
redis_answer command(redis_connection const& connection, char const* format, Arguments... arguments)
{
    redis_answer answer{
        static_cast<redisReply*>(redisCommand(connection.get(), format, arguments...))};
    if (!answer)
        throw std::runtime_error{connection->errstr};
    if (answer->type == REDIS_REPLY_ERROR)
        throw std::runtime_error{answer->str};
    return answer;
}

/// One resource, one connection.
class bare_lock {
  public:
    bare_lock(int port, std::string name) : connection_{connect(port)}, name_{std::move(name)}
    {
        acquire_ = load("if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "
                        "return redis.call('INCR', KEYS[2]) end return 0");
        release_ = load("if redis.call('GET', KEYS[1]) == ARGV[1] then "
                        "return redis.call('DEL', KEYS[1]) end return 0");
    }

    /// The token. Throws where somebody else has the lock.
    std::int64_t acquire()
    {
        auto const answer = command(connection_, "EVALSHA %s 2 lock:%s fence:%s %s 30000",
                                    acquire_.c_str(), name_.c_str(), name_.c_str(), owner);
        if (answer->integer == 0)
            throw std::runtime_error{"the lock of " + name_ + " is held by another"};
        return answer->integer;
    }

    void release()
    {
        command(connection_, "EVALSHA %s 1 lock:%s %s", release_.c_str(), name_.c_str(), owner);
    }

  private:
    static constexpr char owner[] = "0123456789abcdef0123456789abcdef";

    std::string load(char const* script)
    {
        return command(connection_, "SCRIPT LOAD %s", script)->str;
    }

    redis_connection connection_;
    std::string name_;
    std::string acquire_; // digests
    std::string release_;
};

} // namespace bench
