// fencelock doctor: what endangers locking here, and what to change.
#include "doctor.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"

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
        std::cout << one.server << ": " << one.what << "\n    " << one.remedy << '\n';
}

} // namespace

void findings::not_checked(std::string const& what) const
{
    std::cerr << "fencelock: " << server_ << ": not checked: " << what << '\n';
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
    for (auto const& [is_given, examine] : {std::pair{!given.redis.empty(), &examine_redis},
                                            std::pair{given.db.has_value(), &examine_database}}) {
        if (!is_given)
            continue;
        std::vector<finding> found;
        try {
            examine(given, found);
        } catch (std::exception const& e) {
            code = report(e);
        }
        for (auto const& one : found)
            print(one, given.json);
        if (!found.empty() && code == success)
            code = found_something;
    }
    return code;
}

} // namespace fencelock::cli
