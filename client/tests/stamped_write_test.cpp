// Statements that write the token column themselves.
#include "transaction_fixture.hpp"

namespace fencelock::test {
namespace {

class stamps : public transaction_fixture {};

TEST_F(stamps, write_the_token_and_refuse_rows_of_a_newer_holder)
{
    shared_postgres().query("INSERT INTO plain VALUES ('" + resource + "', 'new', NULL), ('" +
                            resource + "b', 'new', NULL)");
    auto holders = stalled_and_current();
    auto& former = holders.former;
    auto& current = holders.current;
    auto const where = std::string{"name IN ($2, $3)"};
    auto const touched = current.transaction([&](pqxx::work& tx) {
        return current.stamp().update(tx, "plain", "status = $1", where, "fresh", resource,
                                      resource + "b");
    });
    EXPECT_EQ(touched, 2U);
    pqxx::connection connection{shared_postgres().conninfo()};
    {
        pqxx::work tx{connection};
        try {
            former.stamp().update(tx, "plain", "status = $1", "name = $2", "stale", resource);
            FAIL();
        } catch (stale_token const& e) {
            EXPECT_EQ(e.mark(), current.token());
            EXPECT_EQ(e.token(), former.token());
            EXPECT_EQ(e.resource(), resource);
        }
        EXPECT_THROW(former.stamp().erase(tx, "plain", "name = $1", resource), stale_token);
        EXPECT_EQ(former.stamp().update(tx, "plain", "status = $1", "name = $2", "x", "nobody"),
                  0U);
        tx.commit();
    }
    EXPECT_EQ(shared_postgres()
                  .query("SELECT status || fence_token FROM plain WHERE name = '" + resource + "'")
                  .value(),
              "fresh" + std::to_string(current.token()));
    pqxx::work tx{connection};
    EXPECT_EQ(current.stamp().erase(tx, "plain", "name = $1", resource), 1U);
    tx.commit();
}

// Else each acquire would get the next number of the block, and each be refused.
TEST_F(stamps, whose_row_refuses_them_end_the_handle_and_the_next_token_is_above)
{
    auto lock = locks.acquire(resource);
    auto const newer =
        *shared_postgres().query("SELECT \"Fence it\".fence_issue('" + resource + "')");
    shared_postgres().query("INSERT INTO plain VALUES ('" + resource + "', 'new', " + newer + ")");
    pqxx::connection connection{shared_postgres().conninfo()};
    auto const update = [&](fencelock::lock const& held) {
        pqxx::work tx{connection};
        held.stamp().update(tx, "plain", "status = $1", "name = $2", "late", resource);
        tx.commit();
    };
    EXPECT_THROW(update(lock), stale_token);
    EXPECT_FALSE(lock.held());
    EXPECT_THROW(update(lock), stale_token);
    EXPECT_EQ(locks.counters().refused, 1U);
    EXPECT_EQ(locks.counters().lost, 1U);
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), std::stoll(newer));
    update(next);
}

TEST_F(stamps, that_a_guard_refuses_end_the_handle_and_the_next_token_is_above_the_mark)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource +
                            "', \"Fence it\".fence_issue('" + resource + "'))");
    pqxx::connection connection{shared_postgres().conninfo()};
    {
        pqxx::work tx{connection};
        try {
            lock.stamp().update(tx, "guarded", "status = $1", "name = $2", "late", resource);
            FAIL();
        } catch (stale_token const& e) {
            EXPECT_EQ(e.resource(), resource);
        }
    }
    EXPECT_FALSE(lock.held());
    auto next = locks.acquire(resource);
    EXPECT_GT(next.token(), mark_of(shared_postgres(), resource));
    next.confirm();
}

// As a program may have it that passes tokens on.
TEST_F(stamps, of_a_token_alone_end_the_handle_that_the_transaction_is_of)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    EXPECT_THROW(lock.transaction([&](pqxx::work& tx) {
        fencelock::stamp const alone{resource, lock.token() + 100'000, "fence_token"};
        alone.update(tx, "guarded", "status = $1", "name = $2", "early", resource);
    }),
                 token_not_issued);
    EXPECT_TRUE(lock.held()); // another's token
    auto const newer =
        *shared_postgres().query("SELECT \"Fence it\".fence_issue('" + resource + "')");
    shared_postgres().query("INSERT INTO plain VALUES ('" + resource + "', 'new', " + newer + ")");
    EXPECT_THROW(lock.transaction([&](pqxx::work& tx) {
        fencelock::stamp const alone{resource, lock.token(), "fence_token"};
        alone.update(tx, "plain", "status = $1", "name = $2", "late", resource);
    }),
                 stale_token);
    EXPECT_FALSE(lock.held());
    EXPECT_GT(locks.acquire(resource).token(), std::stoll(newer));
}

// The resource is hidden from the role, as the template's column is; the token tells whose it was.
TEST_F(stamps, that_are_refused_without_a_name_end_the_handle_all_the_same)
{
    shared_postgres().query("DROP TABLE IF EXISTS hidden");
    shared_postgres().query("CREATE TABLE hidden (id int, name text, fence_token bigint)");
    shared_postgres().query("SELECT \"Fence it\".fence_attach('hidden', '{name}')");
    auto lock = locks.acquire(resource);
    lock.transaction([&](pqxx::work& tx) {
        tx.exec("INSERT INTO hidden VALUES (1, " + tx.quote(resource) + ", NULL)");
    });
    shared_postgres().query("DROP ROLE IF EXISTS blind");
    shared_postgres().query("CREATE ROLE blind");
    shared_postgres().query(
        "GRANT SELECT (id, fence_token), UPDATE (id, fence_token) ON hidden TO blind");
    auto other = others.acquire(new_resource());
    shared_postgres().query("SELECT \"Fence it\".fence_check('" + resource +
                            "', \"Fence it\".fence_issue('" + resource + "'))");
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work tx{connection};
    tx.exec("SET LOCAL ROLE blind");
    try {
        lock.stamp().update(tx, "hidden", "id = $1", "id = $2", 2, 1);
        FAIL();
    } catch (stale_token const& e) {
        EXPECT_EQ(e.resource(), "");
        EXPECT_EQ(e.token(), lock.token());
    }
    EXPECT_FALSE(lock.held());
    EXPECT_TRUE(other.held());
}

// There it is nobody's to tell: the handle has ended, or is another process's.
TEST_F(stamps, outlive_their_handle)
{
    auto lock = std::make_optional(locks.acquire(resource));
    auto const stamp = lock->stamp();
    lock.reset();
    auto next = locks.acquire(resource);
    shared_postgres().query("INSERT INTO plain VALUES ('" + resource + "', 'new', " +
                            std::to_string(next.token()) + ")");
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work tx{connection};
    EXPECT_THROW(stamp.update(tx, "plain", "status = $1", "name = $2", "late", resource),
                 stale_token);
    EXPECT_TRUE(next.held());
}

// A number that no token can be above is not asked for twice.
TEST_F(stamps, that_meet_a_number_that_is_no_token_do_not_keep_the_lock_from_being_taken)
{
    auto lock = locks.acquire(resource);
    shared_postgres().query("INSERT INTO plain VALUES ('" + resource + "', 'new', " +
                            "9000000000000000000)");
    {
        pqxx::connection connection{shared_postgres().conninfo()};
        pqxx::work tx{connection};
        EXPECT_THROW(lock.stamp().update(tx, "plain", "status = $1", "name = $2", "x", resource),
                     stale_token);
    }
    EXPECT_THROW(locks.acquire(resource), invalid_argument);
    EXPECT_TRUE(locks.try_acquire(resource));
}

// As libpqxx sends them: in binary, and so not to be read as text.
TEST_F(stamps, take_bytes_as_arguments)
{
    shared_postgres().query("DROP TABLE IF EXISTS blobs");
    shared_postgres().query("CREATE TABLE blobs (name text, content bytea, fence_token bigint)");
    shared_postgres().query("INSERT INTO blobs VALUES ('" + resource + "', '', NULL)");
    auto lock = locks.acquire(resource);
#if PQXX_VERSION_MAJOR >= 7
    std::basic_string<std::byte> const content{std::byte{0}, std::byte{0xFF}, std::byte{'\\'}};
#else
    pqxx::binarystring const content{std::string{"\0\xFF\\", 3}};
#endif
    lock.transaction([&](pqxx::work& tx) {
        EXPECT_EQ(lock.stamp().update(tx, "blobs", "content = $1", "name = $2", content, resource),
                  1U);
        EXPECT_EQ(lock.stamp().update(tx, "blobs", "content = $1 || $1", "content = $1", content),
                  1U);
#if PQXX_VERSION_MAJOR >= 7 // version 6 takes none of this
        EXPECT_EQ(lock.stamp().update(tx, "blobs", "name = name", "content <> $1",
                                      std::make_optional(content)),
                  1U);
#endif
    });
    EXPECT_EQ(shared_postgres().query("SELECT encode(content, 'hex') FROM blobs"), "00ff5c00ff5c");
    EXPECT_EQ(shared_postgres().query("SELECT fence_token FROM blobs"),
              std::to_string(lock.token()));
}

TEST_F(stamps, on_a_guarded_table_are_accepted_without_a_claim)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    pqxx::connection connection{shared_postgres().conninfo()};
    pqxx::work tx{connection};
    EXPECT_EQ(lock.stamp().update(tx, "guarded", "status = $1", "name = $2", "stamped", resource),
              1U);
    tx.commit();
    EXPECT_EQ(status(), "stamped");
}

} // namespace
} // namespace fencelock::test
