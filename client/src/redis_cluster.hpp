// A Redis Cluster: which node has which slot.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "redis_topology.hpp"

namespace fencelock::detail {

inline constexpr int cluster_slots = 16384;

/// The slot of a key: CRC-16/XMODEM of its hash tag, else of all of it, modulo 16384 (Redis Cluster
/// specification, "Key distribution model").
int slot_of(std::string_view key);

/// Every request goes to the primary of its key's slot, as a node tells the slots (CLUSTER SLOTS);
/// corrected by MOVED, and asked for again after each doubt, of the doubted node last.
class redis_cluster final : public redis_topology {
  public:
    redis_cluster(redis_target const& target, redis_connector connector);

    redis_address server_for(std::string_view key, steady::time_point deadline) override;
    std::vector<redis_address> servers(steady::time_point deadline) override;
    std::string known_server_for(std::string_view key) const override;
    void doubt(redis_address const& server) override;
    bool has_slots() const override { return true; }
    std::optional<redis_address> redirected(redirection const& to,
                                            redis_address const& by) override;
    std::string place() const override { return "Redis Cluster"; }

  private:
    static constexpr std::uint16_t nobody = 0xFFFF;

    struct slot_map {
        std::vector<redis_address> nodes;
        std::array<std::uint16_t, cluster_slots> owner; // index into nodes, or nobody

        slot_map() { owner.fill(nobody); }
        std::uint16_t index_of(redis_address const& node);
        std::optional<redis_address> owner_of(int slot) const;
    };

    slot_map ask(std::vector<redis_address> const& nodes, steady::time_point deadline) const;
    slot_map map_of(redis_reply const& slots, redis_address const& by) const;
    redis_address node(std::string const& host, std::string const& port,
                       redis_address const& by) const;
    std::vector<redis_address> nodes_to_ask() const;

    redis_connector const connector_;
    redis_address const login_;
    std::vector<redis_address> const seeds_;
    mutable std::mutex mutex_;
    slot_map map_;
    bool known_ = false;
    std::optional<redis_address> doubted_;
};

} // namespace fencelock::detail
