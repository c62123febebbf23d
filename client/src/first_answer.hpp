// Asks several servers that should know the same.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fencelock/errors.hpp>

#include "redis_connector.hpp"

namespace fencelock::detail {

/// The first answer that is something, of servers asked one after the other; each has a share of
/// the time, so that one that does not answer leaves time for the next, and for what the answer is
/// needed for. `ask` gets a link and a deadline and returns an optional. Nothing where all
/// answered, and with nothing. Where none had an answer, throws redis_error or configuration_error
/// if some server refused, else link_failure (never sent).
template <typename Ask>
auto first_answer(std::vector<redis_address> const& servers, redis_connector const& connector,
                  steady::time_point deadline, Ask ask)
    -> decltype(ask(std::declval<redis_link&>(), deadline))
{
    std::string troubles;
    std::exception_ptr refusal;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        auto const now = steady::now();
        auto const share = now + (deadline - now) / static_cast<int>(servers.size() - i + 1);
        try {
            auto const link = connector.connect(servers[i], share);
            if (auto answer = ask(*link, share))
                return answer;
        } catch (link_failure const& failure) {
            troubles +=
                (troubles.empty() ? "" : "; ") + servers[i].display() + ": " + failure.what();
        } catch (redis_error const& e) {
            refusal = std::make_exception_ptr(
                redis_error{std::string{e.what()} + " (" + servers[i].display() + ")"});
        } catch (configuration_error const& e) {
            refusal = std::make_exception_ptr(
                configuration_error{std::string{e.what()} + " (" + servers[i].display() + ")"});
        }
    }
    if (refusal)
        std::rethrow_exception(refusal);
    if (!troubles.empty())
        throw link_failure{troubles, false};
    return std::nullopt;
}

} // namespace fencelock::detail
