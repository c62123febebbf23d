#include "open_connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>

#include <fencelock/errors.hpp>

#include "clock.hpp"
#include "refusal.hpp"

namespace fencelock::detail {

namespace {

// The server answers: this is for a network that breaks just then.
constexpr milliseconds ask_again_limit{2000};

// In any language, what a server says has two spaces behind its severity, and libpq's own messages
// have one behind every colon.
constexpr std::string_view behind_severity = ":  ";

using libpq_connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

// False where the deadline came first.
bool wait_for(int socket, short events, steady::time_point deadline)
{
    pollfd watched{socket, events, 0};
    int ready = 0;
    do
        ready = ::poll(&watched, 1, static_cast<int>(until(deadline).count()));
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

// False where it was still under way at the deadline.
bool finish_connecting(PGconn* connection, steady::time_point deadline)
{
    auto state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK && state != PGRES_POLLING_FAILED) {
        short const events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (!wait_for(PQsocket(connection), events, deadline))
            return false;
        state = PQconnectPoll(connection);
    }
    return true;
}

// The SQLSTATE with which the server refuses a connection; empty where it does not. libpqxx keeps
// none of a connection that failed, and libpq's message has one only where that was asked for
// before: so the server is asked again, whatever it has said, which may be in any language. Who
// counts refusals, as to lock an account out, counts both.
std::string sqlstate_of_refusal(std::string const& complete)
{
    libpq_connection const connection{PQconnectStart(complete.c_str()), &PQfinish};
    if (!connection || PQstatus(connection.get()) == CONNECTION_BAD)
        return {};
    PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
    if (!finish_connecting(connection.get(), steady::now() + ask_again_limit) ||
        PQstatus(connection.get()) == CONNECTION_OK)
        return {};
    if (PQconnectionNeedsPassword(connection.get()) != 0)
        return "28P01";
    auto const told = telling_line(PQerrorMessage(connection.get()));
    auto const at = told.find(behind_severity);
    if (at == std::string_view::npos)
        return {};
    auto const code = told.substr(at + behind_severity.size(), 6); // and a colon
    return code.ends_with(':') ? std::string{code.substr(0, 5)} : std::string{};
}

// Whether it is worth asking: where nobody answers, that may have taken long.
bool may_be_refused(std::string_view message)
{
    return message.find(behind_severity) != std::string_view::npos ||
           message.find("password") != std::string_view::npos;
}

// Where nobody listens, libpq asks, in any language, in a second line whether a server runs there.
std::string_view remedy_for_refusal(std::string_view message, std::string_view sqlstate)
{
    if (!may_be_refused(message) && message.find("\n\t") != std::string_view::npos)
        return " (does a server run there?)";
    return remedy_for(sqlstate);
}

} // namespace

std::unique_ptr<pqxx::connection> open_connection(std::string const& complete)
try {
    return std::make_unique<pqxx::connection>(complete);
} catch (pqxx::broken_connection const& e) {
    auto const sqlstate = may_be_refused(e.what()) ? sqlstate_of_refusal(complete) : std::string{};
    auto const why = "PostgreSQL: " + std::string{telling_line(e.what())}.append(
                                          remedy_for_refusal(e.what(), sqlstate));
    if (refuses_for_good(sqlstate))
        throw configuration_error{why};
    throw issuer_unavailable{why};
}

std::string_view telling_line(std::string_view message)
{
    auto const said = message.find(behind_severity);
    auto const before =
        said == std::string_view::npos ? std::string_view::npos : message.rfind('\n', said);
    if (before != std::string_view::npos)
        message.remove_prefix(before + 1);
    return message.substr(0, message.find_last_not_of(" \n", message.find('\n')) + 1);
}

} // namespace fencelock::detail
