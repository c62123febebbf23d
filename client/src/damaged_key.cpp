#include "damaged_key.hpp"

#include <array>

#include "redis_fault.hpp"
#include "redis_link.hpp"

namespace fencelock::detail {

bool is_about_a_value(std::string_view reply)
{
    return code_of(reply) == "WRONGTYPE" || reply.find("not an integer") != std::string_view::npos;
}

std::string told_of_lock(std::string const& key)
{
    return "the key " + key +
           " is no lock, but something else that was written there: DEL it, and find out who "
           "writes "
           "it";
}

// The scripts read two keys; the wake list may be anything.
std::string told_of_damaged(redis_keys const& keys, key_preset preset, redis_link& link,
                            steady::time_point deadline)
{
    auto const lock = link.command(std::array<std::string, 2>{"GET", keys.lock}, deadline);
    if (lock.type == redis_reply::kind::error && is_about_a_value(lock.text))
        return told_of_lock(keys.lock);
    if (preset == key_preset::plain)
        return "the key " + keys.state +
               " is no counter: SET it to the highest token that was given out";
    return "the key " + keys.state +
           " is not the hash that counts tokens, but something else that was written there: DEL "
           "it, "
           "which is safe for the tokens, and find out who writes it";
}

} // namespace fencelock::detail
