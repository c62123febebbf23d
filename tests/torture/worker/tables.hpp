// The guarded tables, and the statements on them. The row `man:0` of account belongs to the
// resource `acct:man:0`, as do those of ledger, bare, note and purse; solo and once have their own
// families.
//
//   account  counter, token column          ledger  the same, require=claim
//   bare     counter, no token column       note    rows come and go, token column
//   solo     counter, mark=row              once    counter, ties=reject
//   purse    an amount, of which transfers keep the sum
#pragma once

#include <cstdint>
#include <string>

#include <pqxx/pqxx>

namespace torture {

// Who writes: every row says so, and a trigger copies it to the journal.
struct writer {
    std::string tx; // the name of the transaction in the history
    std::string resource;
    std::int64_t token = 0;
};

// The value to decide on; 0 in a table without.
std::int64_t read_value(pqxx::transaction_base& tx, std::string const& table,
                        std::string const& resource);

// The SET list of an UPDATE that writes `value`, without the token column.
std::string assignments(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                        std::int64_t value);

// Writes by plain SQL; in `note` a row comes, or the oldest goes. Returns the number of rows, 1
// where the table is as it should be.
std::size_t write_value(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                        std::int64_t value);

// The same with the token written to its column: a stamp.
std::size_t write_stamped(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                          std::int64_t value);

std::string where_row(pqxx::transaction_base& tx, std::string const& resource);

} // namespace torture
