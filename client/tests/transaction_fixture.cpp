#include "transaction_fixture.hpp"

namespace fencelock::test {

void transaction_fixture::SetUpTestSuite()
{
    for (std::string const table : {"guarded", "plain"})
        shared_postgres().query("CREATE TABLE IF NOT EXISTS " + table +
                                " (name text PRIMARY KEY, status text, fence_token bigint)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('guarded', '{name}')");
}

transaction_fixture::two_holders transaction_fixture::stalled_and_current()
{
    auto former = locks.acquire(resource, {.ttl = 1h});
    shared_redis().command({"DEL", lock_key(resource)});
    auto current = others.acquire(resource, {.ttl = 1h});
    return {std::move(former), std::move(current)};
}

void transaction_fixture::insert(lock& with)
{
    with.transaction([&](pqxx::work& tx) {
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) + ", 'new')");
    });
}

void transaction_fixture::update(lock& with, std::string const& status, isolation level)
{
    with.transaction(
        [&](pqxx::work& tx) {
            tx.exec("UPDATE guarded SET status = " + tx.quote(status) +
                    " WHERE name = " + tx.quote(resource));
        },
        {.isolation = level});
}

std::string transaction_fixture::status() const
{
    return shared_postgres()
        .query("SELECT status FROM guarded WHERE name = '" + resource + "'")
        .value_or("(none)");
}

} // namespace fencelock::test
