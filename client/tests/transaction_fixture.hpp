// A table with a guard and one without, both with a token column, and two clients.
#pragma once

#include "servers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace fencelock::test {

class transaction_fixture : public ::testing::Test {
  protected:
    static void SetUpTestSuite();

    // A lease that has ended in Redis without its holder knowing, and its successor's.
    struct two_holders {
        lock former;
        lock current;
    };
    two_holders stalled_and_current();

    /// Into `guarded`, and the row of that table.
    void insert(lock& with);
    void update(lock& with, std::string const& status, isolation level = isolation::read_committed);
    std::string status() const;

    redis_locks redis{shared_redis().socket_url()};
    client locks{redis, shared_postgres().conninfo(), {.fall_back = false}};
    client others{redis, shared_postgres().conninfo(), {.fall_back = false}};
    std::string resource = new_resource();
};

} // namespace fencelock::test
