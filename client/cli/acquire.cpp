// acquire; and renew and release, for what it took.
#include "commands.hpp"

#include <csignal>
#include <iostream>
#include <optional>
#include <utility>

#include "exit_code.hpp"
#include "json.hpp"
#include "messages.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "standard_streams.hpp"
#include "take_lock.hpp"
#include "terminal.hpp"

namespace fencelock::cli {

namespace {

void print_grant(lock const& held, arguments const& given)
{
    if (given.json)
        std::cout << json_object{}
                         .add("resource", held.resource())
                         .add("token", held.token())
                         .add("owner", held.owner())
                         .add("issuer", held.issuer_name())
                         .add("ttl_ms", given.ttl.count())
                         .text();
    else
        std::cout << printable(held.resource()) << ' ' << held.token() << ' '
                  << printable(held.owner()) << ' ' << held.issuer_name();
    std::cout << '\n';
    flush_output("; the lock was released"); // nobody knows the token: the destructor releases
}

int tell(bool was_ours, char const* done, arguments const& given)
{
    if (given.json)
        std::cout << json_object{}
                         .add("resource", *given.resource)
                         .add("token", given.token)
                         .add(done, was_ours)
                         .text()
                  << '\n';
    if (was_ours)
        return success;
    say("the lock of \"" + *given.resource + "\" with token " + std::to_string(given.token) +
        " is not held by this owner: nothing was " + done);
    return not_ours;
}

} // namespace

// Killed by a signal, it would leave a lease that nobody knows of.
int acquire(arguments const& given)
try {
    signal_inbox inbox;
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); // for print_grant() to notice
    session with{given};
    auto options = with.options();
    options.renew = false;
    auto held = take_lock(with, given, options, inbox);
    with.tell_fallback(held);
    print_grant(held, given);
    held.detach();
    return success;
} catch (interrupted const& e) {
    return killed + e.signal;
}

int renew(arguments const& given)
{
    session with{given};
    std::optional<progress> busy{std::in_place, "renewing the lock of \"" + *given.resource + '"'};
    auto const was_ours =
        with.client().renew({*given.resource, given.owner, given.token}, given.ttl);
    busy.reset();
    return tell(was_ours, "renewed", given);
}

int release(arguments const& given)
{
    session with{given};
    std::optional<progress> busy{std::in_place, "releasing the lock of \"" + *given.resource + '"'};
    auto const was_ours = with.client().release({*given.resource, given.owner, given.token});
    busy.reset();
    return tell(was_ours, "released", given);
}

} // namespace fencelock::cli
