// Receipts: what a client whose COMMIT was not answered needs to find out what became of it.
#pragma once

#include "pg.hpp"

namespace fencelock {

// Of the current transaction, which gets an id by this; palloc'd.
const char* receipt_of_transaction();

enum class transaction_fate : uint8 { committed, aborted, in_progress, unknown };

// Unknown where this server has crashed since, is not the one that gave the receipt, or has
// forgotten a transaction that old. Raises where `receipt` is none.
transaction_fate fate_of(std::string_view receipt);

} // namespace fencelock
