// Which of the commands that locking uses a user of Redis may not use, for doctor.
#include <array>
#include <string>
#include <vector>

#include "doctor.hpp"
#include "keys.hpp"
#include "owner_id.hpp"
#include "redis_fault.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

namespace {

using detail::redis_reply;

// Tries each command that the library's scripts use, on keys that nothing else uses, and returns
// what was refused: the command, and the error.
constexpr char const* try_commands = R"lua(
local lock, state, wake = KEYS[1], KEYS[2], KEYS[3]
local refused = {}
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = (...)
    refused[#refused + 1] = reply.err
  end
end
try('INFO', 'replication')
try('TIME')
try('SET', lock, '1:x', 'PX', 1000)
try('GET', lock)
try('PTTL', lock)
try('PEXPIRE', lock, 1000)
try('DEL', lock)
if ARGV[1] == 'plain' then
  try('INCR', state)
else
  try('HSET', state, 'last', '1')
  try('HMGET', state, 'last')
  try('HGET', state, 'last')
  try('HINCRBY', state, 'last', 1)
  try('HDEL', state, 'last')
end
try('LLEN', wake)
try('LPUSH', wake, '1')
try('DEL', state, wake)
return refused
)lua";

// All that a client asks for, with its scripts.
constexpr char const* rights =
    "+eval +evalsha +time +info|replication +get +set +del +pttl +pexpire +incr +hget +hmget +hset "
    "+hdel +hincrby +llen +lpush +blpop +select, in a cluster +cluster|slots +asking too";

void add_refusal(findings& found, std::string const& command, std::string const& error)
{
    if (detail::is_missing_right(error))
        found.add("this user may not use " + command + ": " + error,
                  std::string{"ACL SETUSER <user> "} + rights + ", and the pattern of the keys");
    else if (!error.starts_with("READONLY")) // told as a replica
        found.add(command + " fails: " + error, "cure what the error names");
}

} // namespace

void check_redis_rights(findings& found, redis_look& redis, key_preset preset)
{
    auto const keys = detail::keys_of("{fencelock:doctor:" + detail::new_owner_id() + "}", preset);
    redis.go_to_server_of(keys.lock);
    auto const tried = redis.ask({"EVAL", try_commands, "3", keys.lock, keys.state, keys.wake,
                                  preset == key_preset::plain ? "plain" : "tagged"});
    if (tried.type == redis_reply::kind::error)
        add_refusal(found, "EVAL", tried.text);
    for (std::size_t i = 0; i + 1 < tried.elements.size(); i += 2)
        add_refusal(found, tried.elements[i].text, tried.elements[i + 1].text);

    // 0.001 would be 0 to Redis before version 7: for ever.
    std::array<std::vector<std::string>, 3> const direct{
        {{"TIME"}, {"PTTL", keys.lock}, {"BLPOP", keys.wake, "0.002"}}};
    for (auto const& command : direct) {
        auto const reply = redis.ask(command);
        if (reply.type == redis_reply::kind::error)
            add_refusal(found, command.front(), reply.text);
    }
    // A digest of no script: NOSCRIPT is the answer of one who may ask.
    auto const digest = redis.ask({"EVALSHA", std::string(40, '0'), "1", keys.lock});
    if (digest.type == redis_reply::kind::error && !digest.text.starts_with("NOSCRIPT"))
        add_refusal(found, "EVALSHA", digest.text);
}

} // namespace fencelock::cli
