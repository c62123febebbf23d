#include "exit_code.hpp"

#include <array>
#include <iostream>
#include <string_view>

#include <fencelock/errors.hpp>

#include "arguments.hpp"
#include "messages.hpp"

namespace fencelock::cli {

namespace {

struct meaning {
    std::string_view code;
    command_set commands; ///< that exit with it
    std::string_view says;
};

constexpr command_set that_look = only(command::show) | only(command::doctor);

// The reference and the man page say the same, in these words.
constexpr std::array<meaning, 16> meanings{{
    {"0", ~only(command::run), "done"},
    {"1", only(command::doctor), "doctor found something"},
    {"64", every_command, "wrong usage, or an argument outside its limits"},
    {"69", ~that_look, "no issuer can be reached, or --redis has no --db to reserve tokens"},
    {"69", that_look, "show, doctor: a server cannot be reached"},
    {"70", every_command, "anything else: a missing right, no answer to what was sent"},
    {"70", ~only(command::run), "output that cannot be written"},
    {"75", that_take, "not acquired in time"},
    {"76", that_take, "lost"},
    {"76", of_a_held_lock, "not ours"},
    {"77", that_take, "the database refused the token"},
    {"126", only(command::run), "CMD cannot be executed"},
    {"127", only(command::run), "CMD was not found"},
    {"128 + n", that_take, "signal n ended the wait for the lock"},
    {"128 + n", only(command::run), "signal n ended CMD"},
    {"other", only(command::run), "CMD's own code, which is passed on"},
}};

template <typename... Classes>
bool is_any(std::exception const& e)
{
    return (dynamic_cast<Classes const*>(&e) || ...);
}

exit_code code_of(std::exception const& e)
{
    if (is_any<usage_error, invalid_argument>(e))
        return usage;
    if (is_any<issuer_unavailable>(e))
        return unavailable;
    if (is_any<lock_timeout>(e))
        return not_acquired;
    if (is_any<lock_lost>(e))
        return not_ours;
    if (is_any<stale_token, token_conflict, token_not_issued>(e))
        return refused;
    return failed;
}

} // namespace

std::string exit_codes_of(std::optional<command> one)
{
    constexpr std::size_t width = 9;
    std::string lines;
    for (auto const& [code, commands, says] : meanings) {
        if (one && !contains(commands, *one))
            continue;
        lines.append("  ").append(code).append(width - code.size(), ' ').append(says).append("\n");
    }
    return lines;
}

int report(std::exception const& e)
{
    auto const code = code_of(e);
    say(e.what());
    if (is_any<usage_error>(e))
        std::cerr << "Try 'fencelock --help'.\n";
    return code;
}

} // namespace fencelock::cli
