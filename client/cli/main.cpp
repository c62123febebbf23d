// fencelock: locks for shell scripts and operators.
#include <iostream>

#include <fencelock/version.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "help.hpp"
#include "standard_streams.hpp"

namespace {

using namespace fencelock::cli;

int dispatch(arguments const& given)
{
    switch (*given.command) {
    case command::run:
        return run(given);
    case command::acquire:
        return acquire(given);
    case command::renew:
        return renew(given);
    case command::release:
        return release(given);
    case command::show:
        return show(given);
    case command::doctor:
        break;
    }
    return doctor(given);
}

} // namespace

int main(int count, char** words)
try {
    occupy_closed_streams();
    auto const given = parse_arguments({words + 1, words + count});
    int code = success;
    if (given.help)
        std::cout << help_of(given.command);
    else if (given.version)
        std::cout << "fencelock " << fencelock::version() << '\n';
    else
        code = dispatch(given);
    flush_output();
    return code;
} catch (std::exception const& e) {
    return report(e);
}
