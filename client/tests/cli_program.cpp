#include "cli_program.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/wait_until.hpp"

namespace fencelock::test {

namespace {

std::string content_of(std::filesystem::path const& file)
{
    std::ifstream stream{file};
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

} // namespace

printed_grant grant_in(cli_outcome const& outcome)
{
    printed_grant grant;
    std::istringstream{outcome.out} >> grant.resource >> grant.token >> grant.owner >> grant.issuer;
    return grant;
}

cli_program::cli_program(std::vector<std::string> const& arguments,
                         std::vector<std::string> const& environment,
                         std::string const& redirections)
{
    test_support::child_options options;
    options.argv = {"/bin/sh", "-c", R"(exec "$@" 2>"$STDERR_FILE" )" + redirections, "sh",
                    FENCELOCK_PROGRAM};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.environment = environment;
    options.environment.push_back("STDERR_FILE=" + (directory_.path() / "err").string());
    for (std::string const name : {"FENCELOCK_REDIS", "FENCELOCK_DB", "FENCELOCK_KEYS", "PGOPTIONS",
                                   "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"}) {
        bool given = false;
        for (auto const& entry : environment)
            given = given || entry.rfind(name + '=', 0) == 0;
        if (!given)
            options.environment.push_back(name);
    }
    options.output = directory_.path() / "out";
    process_ = std::make_unique<test_support::child_process>(options);
}

bool cli_program::says(std::string const& text) const
{
    return test_support::wait_until([&] { return out().find(text) != std::string::npos; });
}

cli_outcome cli_program::wait()
{
    auto const code = process_->wait(test_support::generous_limit);
    EXPECT_TRUE(code) << "it does not end";
    return {code.value_or(-1), out(), content_of(directory_.path() / "err")};
}

std::string cli_program::out() const
{
    return content_of(directory_.path() / "out");
}

cli_outcome run_cli(std::vector<std::string> const& arguments,
                    std::vector<std::string> const& environment, std::string const& redirections)
{
    return cli_program{arguments, environment, redirections}.wait();
}

} // namespace fencelock::test
