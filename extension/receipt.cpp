#include "receipt.hpp"

#include "errors.hpp"
#include "pg_compat.hpp"

namespace fencelock {

namespace {

// A crash forgets the ids of transactions that reached no disk, and hands them out again: a
// receipt is good only within one life of the server's shared memory. No backend outlives that, so
// it is looked up once; 0 while it can't be told, and then no receipt is good.
TimestampTz life_of_server()
{
    static TimestampTz life = 0;
    if (life == 0)
        life = compat::start_of_checkpointer();
    return life;
}

const char* written(uint64 server, int64 life, uint64 id)
{
    return psprintf(UINT64_FORMAT "/" INT64_FORMAT "/" UINT64_FORMAT, server, life, id);
}

transaction_fate fate_of_id(FullTransactionId id)
{
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
    call->args[0].value = FullTransactionIdGetDatum(id);
    call->args[0].isnull = false;
    Datum status = pg_xact_status(call);
    if (call->isnull)
        return transaction_fate::unknown;
    std::string_view word = view_of(DatumGetTextPP(status));
    return word == "committed" ? transaction_fate::committed
           : word == "aborted" ? transaction_fate::aborted
                               : transaction_fate::in_progress;
}

} // namespace

const char* receipt_of_transaction()
{
    return written(GetSystemIdentifier(), life_of_server(),
                   U64FromFullTransactionId(GetTopFullTransactionId()));
}

transaction_fate fate_of(std::string_view receipt)
{
    uint64 server;
    int64 life;
    uint64 id;
    char* copy = pnstrdup(receipt.data(), receipt.size());
    if (sscanf(copy, "%" SCNu64 "/%" SCNd64 "/%" SCNu64, &server, &life, &id) != 3 ||
        receipt != written(server, life, id)) // sscanf takes more than that
        raise_bad_receipt(receipt);
    if (server != GetSystemIdentifier() || life == 0 || life != life_of_server() ||
        RecoveryInProgress())
        return transaction_fate::unknown;
    return fate_of_id(FullTransactionIdFromU64(id));
}

} // namespace fencelock
