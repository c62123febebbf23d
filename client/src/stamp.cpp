#include <fencelock/stamp.hpp>

#include <utility>

#include <fencelock/errors.hpp>

#include "lease.hpp"
#include "refusal.hpp"

namespace fencelock {

namespace {

std::string quoted(std::string_view name)
{
    if (name.empty() || name.find('\0') != std::string_view::npos)
        throw invalid_argument{"the name of the token column is empty or contains a NUL byte"};
    std::string result{'"'};
    for (char const c : name) {
        if (c == '"')
            result += '"';
        result += c;
    }
    return result + '"';
}

} // namespace

stamp::stamp(std::string resource, std::int64_t token, std::string_view column)
    : resource_{std::move(resource)}, token_{token}, column_{quoted(column)}
{
}

stamp::stamp(std::shared_ptr<detail::lease> const& lease, std::string_view column)
    : resource_{lease->id().resource}, token_{lease->id().token}, column_{quoted(column)},
      lease_{lease}
{
}

std::string stamp::assignment() const
{
    return column_ + " = " + std::to_string(token_);
}

std::string stamp::condition() const
{
    return "(" + column_ + " IS NULL OR " + column_ + " <= " + std::to_string(token_) + ")";
}

// A second statement, for its newer snapshot: the first may have waited for a newer holder's
// commit. It takes all the parameters, and each must have a type even where only the assignments
// use it.
std::string stamp::newer_rows(std::string const& table, std::string const& where,
                              std::initializer_list<char const*> types) const
{
    auto sql = "SELECT max(" + column_ + ") FROM " + table + " WHERE (" + where + ") AND " +
               column_ + " > " + std::to_string(token_);
    int number = 0;
    for (auto const* type : types)
        sql += " AND (true OR $" + std::to_string(++number) + "::" + type + " IS NULL)";
    return sql;
}

void stamp::refuse_newer(pqxx::result const& found) const
{
    if (found[0][0].is_null())
        return;
    auto const newer = found[0][0].as<std::int64_t>();
    if (auto const mine = lease())
        mine->refused(newer);
    throw stale_token{"fencing token " + std::to_string(token_) + " is stale, below the token " +
                          std::to_string(newer) + " in a row of resource \"" + resource_ + "\"",
                      resource_, token_, newer};
}

// A guard's.
void stamp::rethrow_refusal(std::exception const& e) const
{
    auto const what = detail::refusal_of(e);
    if (!what)
        return;
    if (auto const mine = lease())
        mine->note_refusal(*what);
    detail::throw_refusal(*what);
}

// The one that a refusal ends: nobody's in a forked child, which has it from its parent.
std::shared_ptr<detail::lease> stamp::lease() const
{
    auto mine = lease_.lock();
    if (!mine || !mine->shared().belongs_to_this_process())
        return nullptr;
    return mine;
}

} // namespace fencelock
