// A Redis Cluster of the test's own, and resources by the node that their keys lie on.
#pragma once

#include "servers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/redis_nodes.hpp"

namespace fencelock::test {

class cluster_fixture : public ::testing::Test {
  protected:
    /// As redis_nodes. A node that does not answer for so long is taken for dead by the others.
    cluster_fixture(std::size_t primaries, std::size_t replicas_of_each,
                    std::chrono::milliseconds node_timeout)
        : nodes{primaries,
                replicas_of_each,
                {"--cluster-node-timeout", std::to_string(node_timeout.count())}}
    {
    }

    static void wait_for(std::function<bool()> const& condition)
    {
        ASSERT_TRUE(wait_until(condition));
    }

    /// A resource whose keys belong to this node at first.
    std::string resource_of(std::size_t node) const
    {
        for (;;) {
            auto name = new_resource();
            if (nodes.first_owner_of(nodes.slot_of(lock_key(name))) == node)
                return name;
        }
    }

    test_support::redis_nodes nodes;
};

} // namespace fencelock::test
