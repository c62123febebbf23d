#include "redis_cluster.hpp"

#include <algorithm>
#include <utility>

#include "first_answer.hpp"

namespace fencelock::detail {

namespace {

// CRC-16/XMODEM: polynomial 0x1021, initial value 0, nothing reflected.
std::uint16_t crc16(std::string_view bytes)
{
    unsigned crc = 0;
    for (char const c : bytes) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    return static_cast<std::uint16_t>(crc);
}

[[noreturn]] void unexpected()
{
    throw link_failure{"CLUSTER SLOTS has an unexpected reply", false};
}

} // namespace

int slot_of(std::string_view key)
{
    auto const open = key.find('{');
    auto const close = open == key.npos ? key.npos : key.find('}', open + 1);
    bool const tagged = close != key.npos && close > open + 1;
    return crc16(tagged ? key.substr(open + 1, close - open - 1) : key) % cluster_slots;
}

std::uint16_t redis_cluster::slot_map::index_of(redis_address const& node)
{
    auto const known = std::find_if(nodes.begin(), nodes.end(), [&](redis_address const& other) {
        return other.is_same_server(node);
    });
    auto const index = known - nodes.begin();
    if (known == nodes.end())
        nodes.push_back(node);
    return static_cast<std::uint16_t>(index);
}

std::optional<redis_address> redis_cluster::slot_map::owner_of(int slot) const
{
    auto const index = owner[static_cast<std::size_t>(slot)];
    if (index == nobody)
        return std::nullopt;
    return nodes[index];
}

redis_cluster::redis_cluster(redis_target const& target, redis_connector connector)
    : connector_{std::move(connector)}, login_{target.login}, seeds_{target.servers}
{
}

redis_address redis_cluster::server_for(std::string_view key, steady::time_point deadline)
{
    auto const slot = slot_of(key);
    std::vector<redis_address> nodes;
    {
        std::lock_guard const guard{mutex_};
        auto const owner = map_.owner_of(slot);
        if (known_ && owner)
            return *owner;
        nodes = nodes_to_ask();
    }
    auto answer = ask(nodes, deadline);
    std::lock_guard const guard{mutex_};
    map_ = std::move(answer);
    known_ = true;
    if (auto const owner = map_.owner_of(slot))
        return *owner;
    // Nobody serves the slot: any node says so in its reply.
    return map_.nodes.empty() ? nodes.front() : map_.nodes.front();
}

std::vector<redis_address> redis_cluster::servers(steady::time_point deadline)
{
    server_for({}, deadline); // so that they are known
    std::lock_guard const guard{mutex_};
    return map_.nodes;
}

std::string redis_cluster::known_server_for(std::string_view key) const
{
    std::lock_guard const guard{mutex_};
    auto const owner = map_.owner_of(slot_of(key));
    return owner ? owner->display() : std::string{};
}

void redis_cluster::doubt(redis_address const& server)
{
    std::lock_guard const guard{mutex_};
    known_ = false;
    doubted_ = server;
}

std::optional<redis_address> redis_cluster::redirected(redirection const& to,
                                                       redis_address const& by)
{
    auto const target = node(to.host, to.port, by);
    if (!to.once && to.slot >= 0 && to.slot < cluster_slots) {
        std::lock_guard const guard{mutex_};
        map_.owner[static_cast<std::size_t>(to.slot)] = map_.index_of(target);
    }
    return target;
}

redis_cluster::slot_map redis_cluster::ask(std::vector<redis_address> const& nodes,
                                           steady::time_point deadline) const
{
    auto map = first_answer(
        nodes, connector_, deadline,
        [this](redis_link& link, steady::time_point limit) -> std::optional<slot_map> {
            auto const reply = link.command(std::array<std::string, 2>{"CLUSTER", "SLOTS"}, limit);
            if (reply.type == redis_reply::kind::error)
                throw redis_error{reply.text};
            return map_of(reply, link.address());
        });
    return std::move(*map);
}

// An array of ranges: first slot, last slot, primary (host, port, ...), replicas.
redis_cluster::slot_map redis_cluster::map_of(redis_reply const& slots,
                                              redis_address const& by) const
{
    slot_map map;
    for (auto const& range : slots.elements) {
        if (range.elements.size() < 3 || range.elements[2].elements.size() < 2)
            unexpected();
        auto const first = range.elements[0].integer;
        auto const last = range.elements[1].integer;
        if (first < 0 || last >= cluster_slots)
            unexpected();
        auto const& primary = range.elements[2].elements;
        auto const index =
            map.index_of(node(primary[0].text, std::to_string(primary[1].integer), by));
        for (auto slot = first; slot <= last; ++slot)
            map.owner[static_cast<std::size_t>(slot)] = index;
    }
    return map;
}

// A node that does not know its own name leaves it empty, or says "?": it is called as it was.
redis_address redis_cluster::node(std::string const& host, std::string const& port,
                                  redis_address const& by) const
{
    auto address = login_;
    address.host = host.empty() || host == "?" ? by.host : host;
    address.port = port;
    return address;
}

std::vector<redis_address> redis_cluster::nodes_to_ask() const
{
    auto nodes = map_.nodes;
    for (auto const& seed : seeds_)
        if (std::none_of(nodes.begin(), nodes.end(),
                         [&](redis_address const& node) { return node.is_same_server(seed); }))
            nodes.push_back(seed);
    if (doubted_)
        std::stable_partition(nodes.begin(), nodes.end(), [this](redis_address const& node) {
            return !node.is_same_server(*doubted_);
        });
    return nodes;
}

} // namespace fencelock::detail
