// Claims and transactions against the extension in a real PostgreSQL.
#include "transaction_fixture.hpp"

#include <thread>

namespace fencelock::test {
namespace {

class transactions : public transaction_fixture {};

TEST_F(transactions, write_under_the_token_and_pass_the_result_through)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    auto const written = lock.transaction([&](pqxx::work& tx) {
        auto const result =
            tx.exec("UPDATE guarded SET status = 'done' WHERE name = " + tx.quote(resource) +
                    " RETURNING fence_token");
        return result[0][0].as<std::int64_t>();
    });
    EXPECT_EQ(written, lock.token());
    EXPECT_EQ(status(), "done");
    EXPECT_EQ(mark_of(shared_postgres(), resource), lock.token());
}

TEST_F(transactions, pass_references_and_values_that_cannot_be_copied)
{
    auto lock = locks.acquire(resource);
    int kept = 1;
    int& reference = lock.transaction([&](pqxx::work&) -> int& { return kept; });
    EXPECT_EQ(&reference, &kept);
    auto const pointer = lock.transaction([](pqxx::work&) { return std::make_unique<int>(5); });
    EXPECT_EQ(*pointer, 5);
}

TEST_F(transactions, a_stale_holder_is_refused_and_writes_nothing)
{
    auto [former, current] = stalled_and_current();
    insert(current);
    bool ran = false;
    try {
        former.transaction([&](pqxx::work&) { ran = true; });
        FAIL();
    } catch (stale_token const& e) {
        EXPECT_EQ(e.resource(), resource);
        EXPECT_EQ(e.token(), former.token());
        EXPECT_EQ(e.mark(), current.token());
    }
    EXPECT_FALSE(ran);
    EXPECT_FALSE(former.held());
    EXPECT_TRUE(former.stop_token().stop_requested());
    EXPECT_THROW(update(former, "stale"), lock_lost);
    update(current, "fresh");
    EXPECT_EQ(status(), "fresh");
}

TEST_F(transactions, a_refusal_leaves_the_successors_lock_alone)
{
    auto [former, current] = stalled_and_current();
    insert(current);
    EXPECT_THROW(update(former, "stale"), stale_token);
    EXPECT_TRUE(shared_redis().command({"GET", lock_key(resource)}));
    EXPECT_TRUE(current.renew());
}

TEST_F(transactions, after_a_refusal_the_next_token_is_above_the_mark)
{
    auto lock = locks.acquire(resource);
    // A reservation made elsewhere retires the whole block that Redis counts in.
    auto const reserved = std::stoll(
        *shared_postgres().query("SELECT \"Fence it\".fence_issue('" + resource + "', 10)"));
    EXPECT_THROW(insert(lock), stale_token);
    EXPECT_FALSE(shared_redis().command({"GET", lock_key(resource)}));
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), reserved);
    insert(next);
    EXPECT_EQ(status(), "new");
}

TEST_F(transactions, a_token_that_was_never_issued_ends_the_handle_and_the_whole_block)
{
    auto lock = locks.acquire(resource);
    auto const token = lock.token();
    // The database loses the reservation, as an asynchronous standby can that is promoted.
    shared_postgres().query("UPDATE \"Fence it\".fence_issuer SET issued = issued - 1000 + " +
                            std::to_string(token) + " - 1 WHERE resource = '" + resource + "'");
    EXPECT_THROW(insert(lock), token_not_issued);
    EXPECT_FALSE(lock.held());
    auto next = locks.acquire(resource, {.confirm = true});
    EXPECT_GT(next.token(), token + 999);
    insert(next);
}

TEST_F(transactions, the_same_token_of_another_owner_is_a_conflict)
{
    auto lock = locks.acquire(resource);
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource + "', " +
                            std::to_string(lock.token()) + ", 'somebody else')");
    EXPECT_THROW(insert(lock), token_conflict);
    EXPECT_FALSE(lock.held());
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), lock.token() + 990); // past the end of the block
    insert(next);
}

TEST_F(transactions, a_write_to_another_resource_needs_its_own_token)
{
    auto lock = locks.acquire(resource);
    auto const other = new_resource();
    try {
        lock.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO guarded VALUES (" + tx.quote(other) + ", 'new')");
        });
        FAIL();
    } catch (token_required const& e) {
        EXPECT_EQ(e.resource(), other);
    }
    EXPECT_TRUE(lock.held());
    auto second = locks.acquire(other);
    lock.transaction([&](pqxx::work& tx) {
        second.claim(tx);
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(other) + ", 'new')");
    });
}

TEST_F(transactions, errors_of_the_caller_come_out_unchanged_and_roll_back)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    struct my_error {};
    EXPECT_THROW(lock.transaction([&](pqxx::work& tx) {
        tx.exec("UPDATE guarded SET status = 'half' WHERE name = " + tx.quote(resource));
        throw my_error{};
    }),
                 my_error);
    EXPECT_THROW(lock.transaction([&](pqxx::work& tx) { tx.exec("SELECT 1/0"); }), pqxx::sql_error);
    EXPECT_EQ(status(), "new");
    EXPECT_TRUE(lock.held());
}

TEST_F(transactions, an_error_that_the_caller_swallowed_is_no_commit)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    EXPECT_THROW(lock.transaction([&](pqxx::work& tx) {
        tx.exec("UPDATE guarded SET status = 'half' WHERE name = " + tx.quote(resource));
        try {
            tx.exec("SELECT 1/0");
        } catch (pqxx::sql_error const&) {
        }
    }),
                 std::exception);
    EXPECT_EQ(status(), "new");
}

TEST_F(transactions, never_start_once_the_lease_is_known_to_be_over)
{
    auto lock = locks.acquire(resource);
    lock.release();
    bool ran = false;
    auto work = [&](pqxx::work&) { ran = true; };
    EXPECT_THROW(lock.transaction(work), lock_lost);
    EXPECT_FALSE(ran);
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work tx{connection};
    EXPECT_THROW(lock.claim(tx), lock_lost);
    EXPECT_THROW(lock.confirm(), lock_lost);
    EXPECT_FALSE(lock.renew());
}

TEST_F(transactions, run_on_a_connection_of_the_callers)
{
    auto lock = locks.acquire(resource);
    pqxx::connection connection{shared_postgres().conninfo()};
    for (int i = 0; i < 2; ++i)
        lock.transaction(connection, [&](pqxx::work& tx) {
            EXPECT_EQ(&tx.conn(), &connection);
            tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) +
                    ", 'mine') ON CONFLICT (name) DO UPDATE SET status = 'again'");
        });
    EXPECT_EQ(status(), "again");
}

TEST_F(transactions, a_claim_protects_a_transaction_of_the_callers)
{
    auto [former, current] = stalled_and_current();
    pqxx::connection connection{shared_postgres().conninfo()};
    {
        pqxx::work tx{connection};
        current.claim(tx);
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) + ", 'claimed')");
        tx.commit();
    }
    pqxx::work tx{connection};
    EXPECT_THROW(former.claim(tx), stale_token);
    EXPECT_FALSE(former.held());
    EXPECT_EQ(status(), "claimed");
}

TEST_F(transactions, repeatable_read_and_serializable_see_what_the_former_holder_wrote)
{
    for (auto const level : {isolation::repeatable_read, isolation::serializable}) {
        auto const name = new_resource();
        auto former = locks.acquire(name, {.ttl = 1h});
        pqxx::connection connection{shared_postgres().conninfo()};
        auto writing = std::make_unique<pqxx::work>(connection);
        former.claim(*writing);
        writing->exec("INSERT INTO guarded VALUES (" + writing->quote(name) + ", 'former')");
        shared_redis().command({"DEL", lock_key(name)});
        auto current = others.acquire(name, {.ttl = 1h});
        std::string seen;
        std::string isolation_level;
        std::thread successor{[&] {
            current.transaction(
                [&](pqxx::work& tx) {
                    auto const row =
                        tx.exec("SELECT status, current_setting('transaction_isolation') "
                                "FROM guarded WHERE name = " +
                                tx.quote(name));
                    if (row.empty())
                        return;
                    seen = row[0][0].as<std::string>();
                    isolation_level = row[0][1].as<std::string>();
                },
                {.isolation = level});
        }};
        EXPECT_TRUE(wait_until(somebody_waits_in_postgres));
        writing->commit();
        successor.join();
        EXPECT_EQ(seen, "former");
        EXPECT_EQ(isolation_level,
                  level == isolation::serializable ? "serializable" : "repeatable read");
    }
}

TEST_F(transactions, confirm_fences_the_former_holder_from_the_grant_on)
{
    auto former = locks.acquire(resource, {.ttl = 1h});
    shared_redis().command({"DEL", lock_key(resource)});
    auto current = others.acquire(resource, {.confirm = true});
    EXPECT_EQ(mark_of(shared_postgres(), resource), current.token());
    EXPECT_THROW(insert(former), stale_token);
}

TEST_F(transactions, confirm_replaces_a_refused_token_unseen)
{
    auto const first = locks.acquire(resource).token();
    auto const reserved = std::stoll(
        *shared_postgres().query("SELECT \"Fence it\".fence_issue('" + resource + "', 10)"));
    EXPECT_GT(reserved, first);
    int losses = 0;
    auto lock =
        locks.acquire(resource, {.confirm = true, .on_lost = [&](lock_lost const&) { ++losses; }});
    EXPECT_GT(lock.token(), reserved);
    EXPECT_TRUE(lock.held());
    EXPECT_EQ(losses, 0); // of the handle that was never seen
    insert(lock);
}

} // namespace
} // namespace fencelock::test
