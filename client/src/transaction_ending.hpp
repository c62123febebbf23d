// Whether a function has ended the transaction that it was given to write in.
#pragma once

#include <string>

#include <pqxx/pqxx>

namespace fencelock::detail {

enum class ending {
    none,
    aborted,   ///< by abort(), by a commit() that failed, or by an error of the server's
    committed, ///< by commit(), as far as anybody knows
    in_sql,    ///< by COMMIT or ROLLBACK: what followed was no part of it
};

/// Asks before the COMMIT, as it would be taken for a success in any case: of an aborted
/// transaction it is a ROLLBACK, and of none a warning. `schema` is the extension's, `receipt` that
/// of the transaction as it began, which is brought up to date. `work` may be rolled back. Throws
/// what libpqxx throws where the server cannot be asked.
ending find_ending(pqxx::work& work, std::string const& schema, std::string& receipt);

} // namespace fencelock::detail
