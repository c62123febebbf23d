// fencelock doctor: what endangers locking here, and what to change.
#include "doctor.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "messages.hpp"
#include "terminal.hpp"

namespace fencelock::cli {

namespace {

constexpr std::int64_t tolerable_ms = 2000;

void print(finding const& one, bool json)
{
    if (json)
        std::cout << json_object{}
                         .add("server", one.server)
                         .add("finding", one.what)
                         .add("remedy", one.remedy)
                         .text()
                  << '\n';
    else
        std::cout << output().fitted(output().painted(one.server + ":", colour::yellow) + ' ' +
                                         printable(one.what),
                                     2)
                  << '\n'
                  << output().fitted("    " + printable(one.remedy), 4) << '\n';
}

} // namespace

void findings::not_checked(std::string const& what) const
{
    say(server_ + ": not checked: " + what);
}

std::int64_t local_ms()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void compare_clocks(findings& found, std::int64_t server_ms, std::int64_t before_ms,
                    std::int64_t after_ms)
{
    auto const apart = std::max({std::int64_t{0}, server_ms - after_ms, before_ms - server_ms});
    if (apart > tolerable_ms)
        found.add(
            "its clock and this machine's are " + std::to_string(apart) + " ms apart",
            "run NTP on both: leases are timed by clocks that should not jump, and a corrected "
            "clock does");
}

int doctor(arguments const& given)
{
    int code = success;
    for (bool const is_redis : {true, false}) {
        if (is_redis ? given.redis.empty() : !given.db)
            continue;
        auto const examine = is_redis ? &examine_redis : &examine_database;
        std::vector<finding> found;
        bool examined = false;
        try {
            progress const busy{is_redis ? "looking at Redis" : "looking at the database"};
            examine(given, found);
            examined = true;
        } catch (std::exception const& e) {
            code = report(e);
        }
        for (auto const& one : found)
            print(one, given.json);
        if (found.empty() && examined && output().is_one() && !given.json)
            std::cout << (is_redis ? "redis" : "database") << ": nothing found\n";
        if (!found.empty() && code == success)
            code = found_something;
    }
    return code;
}

} // namespace fencelock::cli
