// A Redis Cluster of the test's own.
#pragma once

#include "redis_server.hpp"

#include <memory>
#include <string>
#include <vector>

namespace fencelock::test_support {

// The nodes of a Redis Cluster: primaries with equal parts of the slots, then their replicas in the
// same order, round after round.
class redis_nodes {
  public:
    // Serving, and with every replica in step. `arguments` are added to each command line.
    explicit redis_nodes(std::size_t primaries, std::size_t replicas_of_each = 0,
                         std::vector<std::string> arguments = {});

    redis_server& operator[](std::size_t node) { return *nodes_[node]; }
    redis_server const& operator[](std::size_t node) const { return *nodes_[node]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }

    [[nodiscard]] int slot_of(std::string const& key) const;
    // The primary that has had the slot from the start.
    [[nodiscard]] std::size_t first_owner_of(int slot) const;
    [[nodiscard]] std::string id_of(std::size_t node) const;
    // redis+cluster://, through this node.
    [[nodiscard]] std::string url(std::size_t first_node = 0) const;

    // Whether INFO replication says so; false where the node does not answer.
    [[nodiscard]] bool is_primary(std::size_t node) const;

  private:
    void give_slots();
    void meet();
    void add_replicas();
    [[nodiscard]] bool says(std::size_t node, std::vector<std::string> const& command,
                            std::string const& what) const;

    std::size_t primaries_;
    std::vector<std::unique_ptr<redis_server>> nodes_;
};

} // namespace fencelock::test_support
