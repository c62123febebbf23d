// The command line with one server of each kind.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli_program.hpp"
#include "servers.hpp"

namespace fencelock::test {

class cli_fixture : public ::testing::Test {
  protected:
    std::vector<std::string> const environment{"FENCELOCK_REDIS=" + shared_redis().socket_url(),
                                               "FENCELOCK_DB=" + shared_postgres().conninfo()};
    std::string resource = new_resource();

    cli_outcome run(std::vector<std::string> const& arguments)
    {
        return run_cli(arguments, environment);
    }

    /// In Redis. A busy machine may take that for away: then the lease is given back, and the lock
    /// asked for again.
    printed_grant acquire(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), {"acquire", "-r", resource, "--wait", "120s"});
        printed_grant grant;
        EXPECT_TRUE(wait_until([&] {
            auto const outcome = run(arguments);
            EXPECT_EQ(outcome.code, 0) << outcome.err;
            grant = grant_in(outcome);
            if (grant.issuer == "database")
                run({"release", "-r", resource, "--owner", grant.owner, "--token", grant.token});
            return grant.issuer != "database";
        }));
        return grant;
    }
};

} // namespace fencelock::test
