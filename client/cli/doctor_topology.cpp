// What doctor finds on sentinels, and in what a node knows of its cluster.
#include <algorithm>
#include <charconv>
#include <set>

#include <fencelock/errors.hpp>

#include "doctor.hpp"
#include "redis_cluster.hpp"
#include "redis_fault.hpp"

namespace fencelock::cli {

namespace {

using detail::redis_reply;

// With fewer, no majority is left when one is lost.
constexpr std::int64_t least_sentinels = 3;

std::int64_t number_in(std::string const& text)
{
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// The value of `name` in a reply of names and values.
std::string value_of(redis_reply const& pairs, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < pairs.elements.size(); i += 2)
        if (pairs.elements[i].text == name)
            return pairs.elements[i + 1].text;
    return {};
}

// Where the sentinel says that the primary is; empty where it does not say so.
std::string named_primary(findings& found, redis_look& sentinel, std::string const& name)
{
    auto const reply = sentinel.need({"SENTINEL", "get-master-addr-by-name", name});
    if (reply.elements.size() != 2) {
        found.add("it knows no primary \"" + name + "\"",
                  "SENTINEL MONITOR it there, or take this sentinel out of the URL");
        return {};
    }
    return reply.elements[0].text + ":" + reply.elements[1].text;
}

void check_quorum(findings& found, redis_look& sentinel, std::string const& name)
{
    auto const reply = sentinel.ask({"SENTINEL", "CKQUORUM", name});
    if (reply.type != redis_reply::kind::error)
        return;
    if (reply.text.starts_with("NOQUORUM"))
        found.add("it could not have a lost primary replaced: " + reply.text,
                  "start the sentinels that are missing, or SENTINEL SET the quorum to what there "
                  "is");
    else
        found.not_checked("the quorum (" + reply.text + ")");
}

void check_watched(findings& found, redis_look& sentinel, std::string const& name)
{
    auto const primary = sentinel.ask({"SENTINEL", "MASTER", name});
    if (primary.type == redis_reply::kind::error) {
        found.not_checked("what it knows of the primary (" + primary.text + ")");
        return;
    }
    auto const flags = value_of(primary, "flags");
    if (flags.find("_down") != std::string::npos)
        found.add("it takes the primary for down (" + flags + ")",
                  "look at the primary, and at the network between the two");
    if (number_in(value_of(primary, "num-slaves")) == 0)
        found.add("it knows no replica of the primary: nothing can take its place",
                  "start a replica with REPLICAOF this primary");
    auto const sentinels = number_in(value_of(primary, "num-other-sentinels")) + 1;
    if (sentinels < least_sentinels)
        found.add("it knows " + std::to_string(sentinels) +
                      " sentinels, itself among them: with one of them lost there is no majority, "
                      "and no failover",
                  "run at least " + std::to_string(least_sentinels) +
                      ", on machines that fail apart");
}

} // namespace

void examine_sentinels(redis_look& redis, detail::redis_target const& target,
                       std::vector<finding>& all)
{
    std::set<std::string> primaries;
    for (auto const& server : target.servers) {
        auto const place = "sentinel " + server.host + ":" + server.port;
        findings found{all, place};
        try {
            redis.go_to(server);
            auto const primary = named_primary(found, redis, target.primary_name);
            if (primary.empty())
                continue;
            primaries.insert(primary);
            check_watched(found, redis, target.primary_name);
            check_quorum(found, redis, target.primary_name);
        } catch (issuer_unavailable const& e) {
            found.add(std::string{"it does not answer: "} + e.what(),
                      "start it, or take it out of the URL");
        } catch (configuration_error const& e) {
            found.add(std::string{"it refuses: "} + e.what(),
                      "give the sentinel_user and sentinel_password that it asks for, and its "
                      "user +sentinel|get-master-addr-by-name");
        }
    }
    if (primaries.size() > 1) {
        std::string named;
        for (auto const& primary : primaries)
            named += (named.empty() ? "" : ", ") + primary;
        findings{all, "sentinels"}.add("they name different primaries: " + named,
                                       "wait for a failover that is going on to end; else reset "
                                       "the sentinels that were cut off from the others");
    }
}

void check_cluster(findings& found, redis_look& redis)
{
    auto const reply = redis.ask({"CLUSTER", "INFO"});
    if (reply.type != redis_reply::kind::text) {
        found.not_checked("the state of the cluster (" + reply.text + ")");
        return;
    }
    auto const served = number_in(value_in(reply.text, "cluster_slots_ok"));
    if (served < detail::cluster_slots)
        found.add("it sees " + std::to_string(served) + " of " +
                      std::to_string(detail::cluster_slots) +
                      " slots served: the other slots grant no locks",
                  "CLUSTER ADDSLOTS where slots belong to nobody, else start the nodes that are "
                  "missing");
    if (value_in(reply.text, "cluster_state") != "ok")
        found.add("it takes the cluster for failed, and grants no locks",
                  "bring back a majority of the primaries and all slots, or set "
                  "cluster-require-full-coverage no where some slots will do");
}

} // namespace fencelock::cli
