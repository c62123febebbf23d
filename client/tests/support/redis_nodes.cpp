#include "redis_nodes.hpp"
#include "wait_until.hpp"

#include <stdexcept>

namespace fencelock::test_support {

namespace {

constexpr std::size_t slots = 16384;

void need(bool reached, std::string const& what)
{
    if (!reached)
        throw std::runtime_error{"the cluster does not get so far: " + what};
}

} // namespace

redis_nodes::redis_nodes(std::size_t primaries, std::size_t replicas_of_each,
                         std::vector<std::string> arguments)
    : primaries_{primaries}
{
    arguments.insert(arguments.begin(),
                     {"--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0"});
    for (std::size_t i = 0; i < primaries * (1 + replicas_of_each); ++i)
        nodes_.push_back(std::make_unique<redis_server>(redis_options{.arguments = arguments}));
    give_slots();
    meet();
    add_replicas();
}

void redis_nodes::give_slots()
{
    for (std::size_t i = 0; i < primaries_; ++i) {
        std::vector<std::string> add{"CLUSTER", "ADDSLOTS"};
        for (std::size_t slot = 0; slot < slots; ++slot)
            if (first_owner_of(static_cast<int>(slot)) == i)
                add.push_back(std::to_string(slot));
        nodes_[i]->command(add);
        nodes_[i]->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
}

void redis_nodes::meet()
{
    for (std::size_t i = 1; i < size(); ++i)
        nodes_[i]->command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0]->port())});
    auto const all = "cluster_known_nodes:" + std::to_string(size()) + "\r";
    for (std::size_t i = 0; i < size(); ++i)
        need(wait_until([&] {
                 return says(i, {"CLUSTER", "INFO"}, "cluster_state:ok") &&
                        says(i, {"CLUSTER", "INFO"}, all);
             }),
             "node " + std::to_string(i) + " knows all others");
}

void redis_nodes::add_replicas()
{
    for (std::size_t i = primaries_; i < size(); ++i)
        nodes_[i]->command({"CLUSTER", "REPLICATE", id_of(i % primaries_)});
    for (std::size_t i = primaries_; i < size(); ++i) {
        need(wait_until([&] {
                 return says(i, {"INFO", "replication"}, "master_link_status:up");
             }),
             "replica " + std::to_string(i) + " is in step");
        for (std::size_t other = 0; other < size(); ++other)
            need(wait_until([&] {
                     return says(other, {"CLUSTER", "REPLICAS", id_of(i % primaries_)}, id_of(i));
                 }),
                 "all know replica " + std::to_string(i));
    }
}

bool redis_nodes::says(std::size_t node, std::vector<std::string> const& command,
                       std::string const& what) const
try {
    return nodes_[node]->command(command).value_or("").find(what) != std::string::npos;
} catch (std::runtime_error const&) { // not now
    return false;
}

int redis_nodes::slot_of(std::string const& key) const
{
    return std::stoi(nodes_[0]->command({"CLUSTER", "KEYSLOT", key}).value());
}

std::size_t redis_nodes::first_owner_of(int slot) const
{
    return static_cast<std::size_t>(slot) * primaries_ / slots;
}

std::string redis_nodes::id_of(std::size_t node) const
{
    return nodes_[node]->command({"CLUSTER", "MYID"}).value();
}

std::string redis_nodes::url(std::size_t first_node) const
{
    return "redis+cluster://127.0.0.1:" + std::to_string(nodes_[first_node]->port());
}

bool redis_nodes::is_primary(std::size_t node) const
{
    return says(node, {"INFO", "replication"}, "role:master");
}

} // namespace fencelock::test_support
