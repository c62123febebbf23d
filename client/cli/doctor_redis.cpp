// What doctor finds on a Redis, in a cluster and on the servers of a Redlock.
#include <algorithm>
#include <map>

#include <fencelock/errors.hpp>
#include <fencelock/redlock_locks.hpp>

#include "doctor.hpp"
#include "keys.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

namespace {

using detail::redis_reply;

// What CONFIG SET changes is forgotten by the next restart.
std::string set_for_good(std::string const& settings)
{
    return "CONFIG SET " + settings + ", then CONFIG REWRITE, so that a restart keeps it";
}

void check_role(findings& found, redis_look& redis)
{
    auto const replication = redis.info("replication");
    if (!replication)
        return; // told as a missing right
    if (value_in(*replication, "role") != "master") {
        found.add("this server is a replica: it grants no locks",
                  "connect to its primary, " + value_in(*replication, "master_host") + ":" +
                      value_in(*replication, "master_port"));
        return;
    }
    auto const replicas = value_in(*replication, "connected_slaves");
    auto const least = redis.setting("min-replicas-to-write");
    if (replicas != "0" && !replicas.empty() && least == "0")
        found.add("cut off from its replicas, this primary goes on granting while one of them is "
                  "promoted",
                  "with at least two replicas: " +
                      set_for_good("min-replicas-to-write 1 and min-replicas-max-lag 2"));
}

void check_eviction(findings& found, redis_look& redis, key_preset preset)
{
    auto const memory = redis.info("memory");
    if (!memory) {
        found.not_checked("eviction (this user may not see INFO memory)");
        return;
    }
    auto const policy = value_in(*memory, "maxmemory_policy");
    if (value_in(*memory, "maxmemory") == "0" || policy == "noeviction")
        return;
    std::string what = "maxmemory-policy " + policy + " evicts locks that are held";
    if (preset == key_preset::plain && policy.starts_with("allkeys"))
        what += ", and counters, which start again at 1";
    found.add(what, set_for_good("maxmemory-policy noeviction") +
                        "; or keep locks in a server of their own");
}

void check_persistence(findings& found, redis_look& redis, key_preset preset)
{
    auto const persistence = redis.info("persistence");
    if (!persistence) {
        found.not_checked("persistence (this user may not see INFO persistence)");
        return;
    }
    bool const plain = preset == key_preset::plain;
    std::string const price = plain ? "locks that are held, and counters, which then repeat tokens"
                                    : "locks that are held; tokens go on growing";
    if (value_in(*persistence, "aof_enabled") != "1")
        found.add("there is no append-only file: a restart forgets " + price,
                  set_for_good("appendonly yes"));
    else if (plain && redis.setting("appendfsync") != "always")
        found.add("appendfsync is not always: a crash forgets the last " + price,
                  set_for_good("appendfsync always") + "; or use tagged keys");
    if (value_in(*persistence, "loading") == "1")
        found.add("it is loading its data", "wait until it has");
}

void check_clock(findings& found, redis_look& redis)
{
    auto const before = local_ms();
    auto const reply = redis.ask({"TIME"});
    if (reply.type != redis_reply::kind::array || reply.elements.size() != 2)
        return; // told as a missing right
    compare_clocks(found,
                   std::stoll(reply.elements[0].text) * 1000 +
                       std::stoll(reply.elements[1].text) / 1000,
                   before, local_ms());
}

// A lock that never ends by itself keeps all others out for ever once its holder is gone.
void check_ttls(findings& found, redis_look& redis, key_preset preset)
try {
    std::size_t count = 0;
    std::string example;
    redis.scan(detail::lock_pattern(preset), [&](std::string const& key) {
        auto const left = redis.ask({"PTTL", key});
        if (left.type != redis_reply::kind::integer || left.integer != -1)
            return;
        ++count;
        example = key;
    });
    if (count > 0)
        found.add(std::to_string(count) + (count == 1 ? " lock has" : " locks have") +
                      " no TTL, and will never end by " +
                      (count == 1 ? "itself: " : "themselves: ") + example +
                      (count == 1 ? "" : ", for one"),
                  "DEL it once nobody works under it, and have whoever sets it give a TTL: SET ... "
                  "NX PX");
} catch (configuration_error const& e) {
    found.not_checked(std::string{"locks without a TTL, and `show` cannot list what is held: "} +
                      e.what());
}

void check_server(findings& found, redis_look& redis, key_preset preset)
{
    check_role(found, redis);
    check_eviction(found, redis, preset);
    check_persistence(found, redis, preset);
    check_clock(found, redis);
    check_ttls(found, redis, preset);
}

void examine_one(std::string const& url, key_preset keys, std::vector<finding>& all)
{
    redis_look redis{url, keys};
    if (redis.target().what == detail::redis_target::kind::sentinels)
        examine_sentinels(redis, redis.target(), all);
    bool const is_cluster = redis.target().what == detail::redis_target::kind::cluster;
    bool all_answer = true;
    for (auto const& server : redis.servers()) {
        findings found{all, is_cluster ? server.display() : "redis"};
        try {
            redis.go_to(server);
            if (is_cluster)
                check_cluster(found, redis);
            check_server(found, redis, keys);
        } catch (issuer_unavailable const& e) {
            if (!is_cluster)
                throw;
            all_answer = false;
            found.add(std::string{"it does not answer: "} + e.what(),
                      "start it, or promote a replica of it: until then its slots grant no locks");
        }
    }
    findings found{all, "redis"};
    if (all_answer)
        check_redis_rights(found, redis, keys);
    else
        found.not_checked("the rights of this user (a node does not answer)");
    if (keys == key_preset::plain)
        found.add(
            "plain keys: tokens repeat where Redis loses a counter or fails over, and there is "
            "no fallback to PostgreSQL",
            "use tagged keys once no other client shares these locks");
}

// Each of the servers; and that they are as many as the URLs.
void examine_redlock(std::vector<std::string> const& urls, std::vector<finding>& all)
{
    redlock_locks const are_usable{urls};
    std::map<std::string, std::string> place_of_run;
    std::size_t answered = 0;
    for (auto const& url : urls) {
        redis_look redis{url, key_preset::tagged};
        findings found{all, redis.place()};
        try {
            redis.go_to(redis.servers().front());
            ++answered;
            check_server(found, redis, key_preset::tagged);
            check_redis_rights(found, redis, key_preset::tagged);
            auto const run = value_in(redis.info("server").value_or(""), "run_id");
            auto const [known, is_new] = place_of_run.emplace(run, redis.place());
            if (run.empty())
                found.not_checked("whether it is listed twice (this user may not see INFO server)");
            else if (!is_new)
                found.add("it is the same server as " + known->second + ", and votes twice",
                          "give each server once");
        } catch (issuer_unavailable const& e) {
            found.add(std::string{"it does not answer: "} + e.what(),
                      "start it: locks need " + std::to_string(urls.size() / 2 + 1) + " of the " +
                          std::to_string(urls.size()) + " servers");
        } catch (configuration_error const& e) {
            found.add(std::string{"it refuses: "} + e.what(), "cure what the error names");
        }
    }
    findings found{all, "redlock"};
    if (urls.size() % 2 == 0)
        found.add(std::to_string(urls.size()) +
                      " servers survive the loss of no more of them than " +
                      std::to_string(urls.size() - 1) + " do",
                  "add a server, or take one away");
    if (answered <= urls.size() / 2)
        throw issuer_unavailable{"no majority of the servers answers"};
}

} // namespace

void examine_redis(arguments const& given, std::vector<finding>& all)
{
    if (given.redis.size() == 1)
        examine_one(given.redis.front(), given.keys, all);
    else
        examine_redlock(given.redis, all);
}

} // namespace fencelock::cli
