// A thread that would wait for itself is told so; nobody else is.
#include "transaction_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <future>

namespace fencelock::test {
namespace {

class nested_transactions : public transaction_fixture {
  protected:
    // What `inner`, called inside a transaction of `with`, says; "" where it says nothing.
    template <typename Lock, typename Inner>
    static std::string said_inside(Lock& with, Inner const& inner)
    {
        std::string said;
        with.transaction([&](pqxx::work&) {
            try {
                inner();
            } catch (invalid_argument const& e) {
                said = e.what();
                EXPECT_NE(said.find("\"" + e.resource() + "\""), std::string::npos);
                EXPECT_NE(said.find("use the transaction that the function was given"),
                          std::string::npos);
            }
        });
        return said;
    }

    static void do_nothing(pqxx::work&) {}
};

TEST_F(nested_transactions, of_one_lock_are_refused_at_once_and_the_outer_one_goes_on)
{
    auto lock = locks.acquire(resource);
    lock.transaction([&](pqxx::work& tx) {
        try {
            lock.transaction(do_nothing);
            ADD_FAILURE();
        } catch (invalid_argument const& e) {
            EXPECT_EQ(e.resource(), resource);
            EXPECT_EQ(e.token(), lock.token());
        }
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) + ", 'outer')");
    });
    EXPECT_EQ(status(), "outer");
    EXPECT_TRUE(lock.held());
    // Also where the mark is the token already, and nobody would wait.
    EXPECT_NE(said_inside(lock, [&] { lock.transaction(do_nothing); }), "");
}

TEST_F(nested_transactions, of_one_lock_are_refused_at_any_isolation_and_on_any_connection)
{
    auto lock = locks.acquire(resource);
    pqxx::connection connection{shared_postgres().conninfo()};
    for (auto const level : {isolation::repeatable_read, isolation::serializable})
        EXPECT_NE(said_inside(lock, [&] { lock.transaction(do_nothing, {.isolation = level}); }),
                  "");
    EXPECT_NE(said_inside(lock, [&] { lock.transaction(connection, do_nothing); }), "");
    lock.transaction(connection, [&](pqxx::work&) {
        EXPECT_THROW(lock.transaction(do_nothing), invalid_argument);
        EXPECT_THROW(lock.transaction(connection, do_nothing), invalid_argument);
    });
    EXPECT_NO_THROW(lock.transaction(connection, do_nothing));
}

TEST_F(nested_transactions, a_confirm_inside_is_refused_at_once_and_the_lock_stays)
{
    auto lock = locks.acquire(resource);
    EXPECT_NE(said_inside(lock, [&] { lock.confirm(1h); }), "");
    EXPECT_TRUE(lock.held());
    EXPECT_NO_THROW(lock.confirm());
}

TEST_F(nested_transactions, of_a_set_and_of_its_locks_are_refused_at_once)
{
    auto const other = new_resource();
    auto both = locks.acquire({resource, other});
    auto& one = both.locks()[1];
    EXPECT_NE(said_inside(both, [&] { both.transaction(do_nothing); }), "");
    EXPECT_NE(said_inside(both, [&] { both.confirm(1h); }), "");
    EXPECT_NE(said_inside(both, [&] { one.transaction(do_nothing); }), "");
    EXPECT_NE(said_inside(one, [&] { both.transaction(do_nothing); }), "");
    EXPECT_EQ(said_inside(one, [&] { both.locks()[0].transaction(do_nothing); }), "");
}

TEST_F(nested_transactions, of_a_newer_lease_of_the_resource_are_refused_at_once)
{
    auto [former, current] = stalled_and_current();
    EXPECT_NE(said_inside(former, [&, &newer = current] { newer.transaction(do_nothing); }), "");
    shared_redis().command({"DEL", lock_key(resource)});
    EXPECT_NE(said_inside(former, [&] { locks.acquire(resource, {.confirm = true}); }), "");
    EXPECT_TRUE(locks.try_acquire(resource)); // what was taken in vain is free
}

TEST_F(nested_transactions, of_an_older_lease_are_stale)
{
    auto [former, current] = stalled_and_current();
    current.transaction([&, &older = former](pqxx::work&) {
        EXPECT_THROW(older.transaction(do_nothing), stale_token);
    });
}

TEST_F(nested_transactions, in_another_database_are_none)
{
    shared_postgres().query("DROP DATABASE IF EXISTS elsewhere");
    shared_postgres().create_database("elsewhere");
    pqxx::connection elsewhere{shared_postgres().conninfo("elsewhere")};
    {
        pqxx::work tx{elsewhere};
        tx.exec("CREATE EXTENSION fencelock");
        tx.commit();
    }
    auto lock = locks.acquire(resource);
    bool ran = false;
    EXPECT_EQ(
        said_inside(lock, [&] { lock.transaction(elsewhere, [&](pqxx::work&) { ran = true; }); }),
        "");
    EXPECT_TRUE(ran);
}

TEST_F(nested_transactions, of_other_threads_wait_for_the_end)
{
    auto lock = locks.acquire(resource);
    std::future<void> other;
    lock.transaction([&](pqxx::work& tx) {
        other = std::async(std::launch::async, [&] { update(lock, "other"); });
        EXPECT_TRUE(wait_until(somebody_waits_in_postgres));
        tx.exec("INSERT INTO guarded VALUES (" + tx.quote(resource) + ", 'outer')");
    });
    other.get();
    EXPECT_EQ(status(), "other");
}

TEST_F(nested_transactions, are_forgotten_where_their_function_or_their_claim_throws)
{
    auto lock = locks.acquire(resource);
    struct my_error {};
    EXPECT_THROW(lock.transaction([](pqxx::work&) { throw my_error{}; }), my_error);
    EXPECT_NO_THROW(lock.transaction(do_nothing));
    auto other = locks.acquire(new_resource());
    EXPECT_THROW(lock.transaction([&](pqxx::work&) {
        other.transaction([&](pqxx::work&) { lock.transaction(do_nothing); });
    }),
                 invalid_argument);
    EXPECT_NO_THROW(other.transaction([&](pqxx::work&) { lock.transaction(do_nothing); }));
    lock.release();
    auto [former, current] = stalled_and_current();
    EXPECT_NO_THROW(current.confirm());
    EXPECT_THROW(former.transaction(do_nothing), stale_token);
    EXPECT_NO_THROW(current.transaction(do_nothing));
}

TEST_F(nested_transactions, of_a_forked_child_are_its_own)
{
    if (!children_may_start_threads)
        GTEST_SKIP() << "ThreadSanitizer";
    auto lock = locks.acquire(resource);
    lock.confirm();
    lock.transaction([&](pqxx::work&) {
        auto const child = ::fork();
        if (child == 0) {
            try {
                client mine{shared_postgres().conninfo()};
                auto newer = mine.acquire(resource, {.ttl = 1h, .wait = 120s});
                newer.confirm(500ms);
                ::_exit(1);
            } catch (issuer_unavailable const&) { // the parent is in its way
                ::_exit(0);
            } catch (...) {
                ::_exit(2);
            }
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    });
}

} // namespace
} // namespace fencelock::test
