#include "database_issuer.hpp"

#include <utility>

#include <fencelock/errors.hpp>

#include "numbers.hpp"

namespace fencelock::detail {

namespace {

// Before version 15 PostgreSQL takes no number above 2^31 here, which are 25 days of milliseconds.
std::string interval(database_session& session, milliseconds ttl)
{
    return session.connection->quote(std::to_string(ttl.count() / 1000) + " seconds " +
                                     std::to_string(ttl.count() % 1000) + " milliseconds") +
           "::interval";
}

std::string lease_arguments(database_session& session, held_lease const& lease)
{
    auto& connection = *session.connection;
    return connection.quote(lease.resource) + "," + connection.quote(lease.owner) + "," +
           std::to_string(lease.token);
}

} // namespace

database_issuer::database_issuer(std::shared_ptr<database> db) : database_{std::move(db)} {}

// A token from here is above everything issued before, so `above` needs no word: what it stands for
// was issued. What arrives after its sender gave up must not take the lease: nobody would release
// it.
std::optional<grant> database_issuer::try_acquire(lease_request const& request)
{
    grant granted;
    auto const token = database_->call_in_time(
        [&](database_session& session) {
            granted.counted_from = steady::now();
            auto& connection = *session.connection;
            return session.schema + ".fence_acquire(" + connection.quote(request.resource) + "," +
                   connection.quote(request.owner) + "," + interval(session, request.ttl) + ")";
        },
        request.resource, request.deadline);
    if (token.empty())
        return std::nullopt;
    granted.token = to_token(token);
    granted.block_end = granted.token;
    return granted;
}

std::optional<steady::time_point> database_issuer::renew(held_lease const& lease, milliseconds ttl,
                                                         steady::time_point deadline)
{
    steady::time_point counted_from;
    auto const is_renewed = database_->call_in_time(
        [&](database_session& session) {
            counted_from = steady::now();
            return session.schema + ".fence_renew(" + lease_arguments(session, lease) + "," +
                   interval(session, ttl) + ")";
        },
        lease.resource, deadline);
    if (is_renewed != "t")
        return std::nullopt;
    return counted_from;
}

bool database_issuer::release(held_lease const& lease, steady::time_point deadline)
{
    bool repeated = false;
    auto const row = database_->call(
        [&](database_session& session) {
            return "SELECT " + session.schema + ".fence_release(" +
                   lease_arguments(session, lease) + ")";
        },
        lease.resource, deadline, repeated);
    if (row.at(0) != "t" && repeated)
        throw outcome_unknown{"PostgreSQL: the release of \"" + lease.resource +
                                  "\" was not answered at first, and it is not held any more",
                              lease.resource, lease.token};
    return row.at(0) == "t";
}

} // namespace fencelock::detail
