// The only place that knows how libpqxx 6.4.5, 7 and 8 differ.
#pragma once

#include <cstddef>
#include <exception>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include <pqxx/pqxx>

namespace fencelock::detail {

// exec(query, params) came in 7.10; exec_params() is deprecated from there on.
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)

template <typename... Arguments>
pqxx::result exec(pqxx::transaction_base& tx, std::string const& sql, Arguments&&... arguments)
{
    return tx.exec(sql, pqxx::params{std::forward<Arguments>(arguments)...});
}

#else

template <typename... Arguments>
pqxx::result exec(pqxx::transaction_base& tx, std::string const& sql, Arguments&&... arguments)
{
    return tx.exec_params(sql, std::forward<Arguments>(arguments)...);
}

#endif

/// The type that a parameter has in PostgreSQL where nothing else gives it one. Ranges of bytes are
/// sent as they are (before version 8 of libpqxx also a class of its own, of unsigned char), all
/// else as text; what may be there or not (an optional, a smart pointer) as what it may hold.
template <typename Argument>
constexpr char const* parameter_type()
{
    constexpr bool may_be_empty = requires(Argument const& argument)
    {
        requires std::is_class_v<Argument>;
        static_cast<bool>(argument);
        *argument;
    };
    if constexpr (may_be_empty) {
        return parameter_type<std::remove_cvref_t<decltype(*std::declval<Argument const&>())>>();
    } else if constexpr (requires(Argument const& argument) { std::data(argument); }) {
        using element = std::remove_cvref_t<decltype(*std::data(std::declval<Argument const&>()))>;
        if constexpr (std::is_same_v<element, std::byte> || std::is_same_v<element, unsigned char>)
            return "bytea";
    }
    return "text";
}

/// From here on a broken connection is an error. Version 6 would connect again without a word, and
/// leave behind what had been learnt about the old one.
inline void forbid_reconnect([[maybe_unused]] pqxx::connection& connection)
{
#if PQXX_VERSION_MAJOR < 7
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
}

/// Puts a session, which is in no transaction, back to what it was when it was opened: settings,
/// role, temporary tables, prepared statements, advisory locks. False where that cannot be done,
/// and it is of no more use: version 6 takes what it has prepared once for prepared.
inline bool forget_session_state(pqxx::connection& connection)
{
    pqxx::nontransaction tx{connection};
#if PQXX_VERSION_MAJOR < 7
    if (!tx.exec("SELECT FROM pg_catalog.pg_prepared_statement() LIMIT 1").empty())
        return false;
#endif
    tx.exec("DISCARD ALL");
    return true;
}

/// Server and database that a connection leads to, for telling databases apart. (A transaction's
/// has another type in version 6, and the port is a number in version 8.)
template <typename Connection>
std::string database_of(Connection&& connection)
{
    auto const text = [](char const* value) { return std::string{value ? value : ""}; };
#if PQXX_VERSION_MAJOR >= 8
    auto const port = std::to_string(connection.port_number().value_or(0));
#else
    auto const port = text(connection.port());
#endif
    return text(connection.hostname()) + '\n' + port + '\n' + text(connection.dbname());
}

/// The SQLSTATE of anything that libpqxx throws; empty where it is no server's error. 6.4.5
/// and 7.10 lose the code of insufficient_privilege, and 6.4.5 has none for rolled back
/// transactions.
inline std::string sqlstate_of(std::exception const& e)
{
    if (auto const* sql = dynamic_cast<pqxx::sql_error const*>(&e)) {
        std::string code{sql->sqlstate()};
        if (!code.empty())
            return code;
        if (dynamic_cast<pqxx::insufficient_privilege const*>(&e))
            return "42501";
    }
    if (dynamic_cast<pqxx::serialization_failure const*>(&e))
        return "40001";
    if (dynamic_cast<pqxx::deadlock_detected const*>(&e))
        return "40P01";
    if (dynamic_cast<pqxx::statement_completion_unknown const*>(&e))
        return "40003";
    if (dynamic_cast<pqxx::transaction_rollback const*>(&e))
        return "40000";
    if (dynamic_cast<pqxx::too_many_connections const*>(&e))
        return "53300";
    return {};
}

} // namespace fencelock::detail
