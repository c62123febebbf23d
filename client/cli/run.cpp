// fencelock run: a program under a lock.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>

#include <fencelock/errors.hpp>

#include "child_group.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "limits.hpp"
#include "messages.hpp"
#include "pgoptions.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "take_lock.hpp"

namespace fencelock::cli {

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// From the polite request to end to the one that cannot be refused.
constexpr std::chrono::seconds patience{5};

// Between two looks whether somebody is left who was asked to end.
constexpr milliseconds look_again{20};

std::string pgoptions_with(std::string const& resource, std::int64_t token)
{
    auto const* const inherited = std::getenv("PGOPTIONS");
    return pgoptions_with_claim(inherited ? inherited : "", resource, token);
}

// Before anything is locked, so with the longest token. The server would tell nobody why it closes
// the program's connections.
void check_pgoptions(std::string const& resource)
{
    auto const size = pgoptions_with(resource, std::numeric_limits<std::int64_t>::max()).size();
    if (size > longest_pgoptions)
        throw invalid_argument{
            '"' + resource +
                "\" is not locked: the PGOPTIONS that presents its token to CMD's "
                "connections would have " +
                std::to_string(size) + " bytes, and PostgreSQL takes " +
                std::to_string(longest_pgoptions) +
                ": take out of PGOPTIONS what else is in it, nest fewer runs, or give their "
                "resources shorter names",
            resource};
}

std::vector<std::string> environment_of(lock const& held)
{
    std::vector<std::pair<std::string, std::string>> const own{
        {"FENCELOCK_RESOURCE", held.resource()},
        {"FENCELOCK_TOKEN", std::to_string(held.token())},
        {"FENCELOCK_OWNER", held.owner()},
        {"PGOPTIONS", pgoptions_with(held.resource(), held.token())}};
    std::vector<std::string> environment;
    for (char** entry = environ; *entry; ++entry) {
        std::string_view const text{*entry};
        auto const name = text.substr(0, text.find('='));
        if (std::none_of(own.begin(), own.end(),
                         [&](auto const& one) { return one.first == name; }))
            environment.emplace_back(text);
    }
    for (auto const& [name, value] : own)
        environment.push_back(name + '=' + value);
    return environment;
}

// Until the program has ended; after a loss, until its whole group has.
int watch(child_group& program, std::atomic<bool> const& lost, signal_inbox& inbox)
{
    std::optional<steady::time_point> kill_at;
    std::optional<int> status;
    for (;;) {
        if (lost && !kill_at) {
            kill_at = steady::now() + patience;
            program.send(SIGTERM);
            program.send(SIGCONT); // one that is stopped could not end
        }
        status = program.status();
        if (status && (!kill_at || !program.any_left()))
            return *status;
        if (kill_at && steady::now() >= *kill_at)
            program.send(SIGKILL);
        auto const signal = inbox.next(kill_at ? std::optional{look_again} : std::nullopt);
        if (signal && *signal != SIGCHLD && *signal != signal_inbox::wake_signal())
            program.send(*signal);
    }
}

int cannot_start(std::string const& program, int code)
{
    say("cannot run \"" + program + "\": " + std::system_category().message(code));
    return code == ENOENT ? not_found : cannot_execute;
}

} // namespace

int run(arguments const& given)
try {
    detail::check_resource(*given.resource);
    check_pgoptions(*given.resource);
    signal_inbox inbox;
    std::atomic<bool> lost{false}; // outlives the thread that renews
    session with{given};
    auto options = with.options();
    options.on_lost = [&lost](lock_lost const& e) {
        say(e.what());
        lost = true;
        signal_inbox::wake();
    };
    auto held = take_lock(with, given, options, inbox);
    with.tell_fallback(held);
    int status = 0;
    try {
        child_group program{given.program, environment_of(held), inbox.original_mask()};
        status = watch(program, lost, inbox);
    } catch (exec_failure const& e) {
        return cannot_start(given.program.front(), e.code);
    }
    auto const outcome = held.release();
    if (lost)
        return not_ours;
    if (outcome == release_outcome::not_held) {
        say("the lock of \"" + held.resource() + "\" with token " + std::to_string(held.token()) +
            " was not held any more when the program ended");
        return not_ours;
    }
    if (outcome == release_outcome::unknown)
        say("the release of \"" + held.resource() +
            "\" was not answered; the lock ends with its TTL");
    return status;
} catch (interrupted const& e) {
    return killed + e.signal;
}

} // namespace fencelock::cli
