// Writing the token into the row by hand, on tables with a token column.
//
// On a guarded table none of this is needed: inside lock::transaction() plain SQL is checked and
// stamped by the guard. Without a guard, these statements are protected, and no others are.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <fencelock/detail/pqxx_compat.hpp>
#include <fencelock/export.hpp>

namespace fencelock {

namespace detail {
class lease;
}

/// A token, and the column that it goes into.
///
/// ```cpp
/// auto const stamp = lock.stamp("fence_token");
/// stamp.update(tx, "orders", "status = $1", "id = $2", "paid", 1001);
/// tx.exec("UPDATE orders SET status = 'paid', " + stamp.assignment() +
///         " WHERE id = 1001 AND " + stamp.condition()); // the same, without the check for why
/// ```
class FENCELOCK_EXPORT stamp {
  public:
    /// Of a token that came from elsewhere; lock::stamp() makes those of a lock. `column` is a bare
    /// name, quoted here. Throws invalid_argument for one that is empty or has a NUL.
    stamp(std::string resource, std::int64_t token, std::string_view column);

    /// As a parameter, e.g. for an INSERT.
    std::int64_t token() const noexcept { return token_; }

    /// For an UPDATE's SET list: `"fence_token" = 34`.
    std::string assignment() const;

    /// For the WHERE clause of an UPDATE or DELETE: true for rows that no newer holder has written,
    /// `("fence_token" IS NULL OR "fence_token" <= 34)`. A statement that it keeps from a row
    /// writes nothing there and says nothing: look at the number of rows, or use update() and
    /// erase().
    std::string condition() const;

    /// Updates and stamps the rows that `where` selects, and returns their number. `table`,
    /// `assignments` and `where` are SQL; `arguments` are their `$1`, `$2` ... Throws stale_token
    /// where any of the rows was written by a newer holder: the transaction must not be committed
    /// then. Throws stale_token, token_conflict, token_not_issued or token_required where a guard
    /// refuses the statement, and else what libpqxx throws. As everywhere, the refusal of its token
    /// ends the lock's handle, and the next acquire gets a token above.
    template <typename... Arguments>
    std::size_t update(pqxx::transaction_base& tx, std::string const& table,
                       std::string const& assignments, std::string const& where,
                       Arguments const&... arguments) const
    {
        auto const written = run(tx,
                                 "UPDATE " + table + " SET " + assignments + ", " + assignment() +
                                     " WHERE (" + where + ") AND " + condition(),
                                 arguments...);
        refuse_newer(run(tx, newer_rows(table, where, {detail::parameter_type<Arguments>()...}),
                         arguments...));
        return static_cast<std::size_t>(written.affected_rows());
    }

    /// Deletes the rows that `where` selects, and returns their number. As update().
    template <typename... Arguments>
    std::size_t erase(pqxx::transaction_base& tx, std::string const& table,
                      std::string const& where, Arguments const&... arguments) const
    {
        auto const written = run(
            tx, "DELETE FROM " + table + " WHERE (" + where + ") AND " + condition(), arguments...);
        refuse_newer(run(tx, newer_rows(table, where, {detail::parameter_type<Arguments>()...}),
                         arguments...));
        return static_cast<std::size_t>(written.affected_rows());
    }

  private:
    friend class lock;

    stamp(std::shared_ptr<detail::lease> const& lease, std::string_view column);

    template <typename... Arguments>
    pqxx::result run(pqxx::transaction_base& tx, std::string const& sql,
                     Arguments const&... arguments) const
    try {
        return detail::exec(tx, sql, arguments...);
    } catch (std::exception const& e) {
        rethrow_refusal(e);
        throw;
    }

    std::string newer_rows(std::string const& table, std::string const& where,
                           std::initializer_list<char const*> types) const;
    void refuse_newer(pqxx::result const& found) const;
    void rethrow_refusal(std::exception const& e) const;
    std::shared_ptr<detail::lease> lease() const;

    std::string resource_;
    std::int64_t token_;
    std::string column_;                 // quoted
    std::weak_ptr<detail::lease> lease_; // empty where the token came from elsewhere
};

} // namespace fencelock
