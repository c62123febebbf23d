// The sessions that a client keeps for transactions: each begins as if it were new.
#include "transaction_fixture.hpp"

#include <set>
#include <stdexcept>

namespace fencelock::test {
namespace {

class transaction_sessions : public transaction_fixture {
  protected:
    static void SetUpTestSuite()
    {
        transaction_fixture::SetUpTestSuite();
        shared_postgres().query(
            "DO 'BEGIN CREATE ROLE lesser; EXCEPTION WHEN duplicate_object THEN "
            "END'");
        shared_postgres().query("SELECT \"Fence it\".fence_grant('lesser')");
    }

    // What a session shows of what was done in it before.
    static std::string left_in(pqxx::work& tx)
    {
        return tx
            .exec("SELECT pg_catalog.concat_ws(' ', current_user, "
                  "pg_catalog.current_setting('search_path'), "
                  "pg_catalog.current_setting('statement_timeout'), "
                  "pg_catalog.current_setting('default_transaction_read_only'), "
                  "pg_catalog.to_regclass('pg_temp.kept'), "
                  "(SELECT count(*) FROM pg_catalog.pg_prepared_statements), "
                  "(SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' "
                  "AND pid = pg_catalog.pg_backend_pid()))")[0][0]
            .c_str();
    }

    static pqxx::result execute_prepared(pqxx::work& tx, std::string const& name, int argument)
    {
#if PQXX_VERSION_MAJOR >= 8 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
        return tx.exec(pqxx::prepped{name}, pqxx::params{argument});
#else
        return tx.exec_prepared(name, argument);
#endif
    }
};

TEST_F(transaction_sessions, keep_nothing_that_an_earlier_function_left)
{
    auto lock = locks.acquire(resource, {.ttl = 1h});
    auto const before = lock.transaction([](pqxx::work& tx) { return left_in(tx); });
    for (int i = 0; i < 3; ++i) {
        lock.transaction([](pqxx::work& tx) {
            for (auto const* sql : {"SET search_path = nowhere", "SET statement_timeout = '1h'",
                                    "SET default_transaction_read_only = on",
                                    "CREATE TEMP TABLE kept (a int)", "PREPARE kept AS SELECT 1",
                                    "SELECT pg_catalog.pg_advisory_lock(77)", "SET ROLE lesser"})
                tx.exec(sql);
        });
        lock.confirm(); // a call of the client's own
        EXPECT_EQ(lock.transaction([](pqxx::work& tx) { return left_in(tx); }), before);
    }
}

TEST_F(transaction_sessions, keep_nothing_of_a_function_that_failed)
{
    auto lock = locks.acquire(resource, {.ttl = 1h});
    auto const before = lock.transaction([](pqxx::work& tx) { return left_in(tx); });
    EXPECT_THROW(lock.transaction([](pqxx::work& tx) {
        tx.exec("SELECT pg_catalog.pg_advisory_lock(78)"); // no rollback gives it back
        tx.exec("PREPARE kept AS SELECT 1");
        throw std::runtime_error{"given up"};
    }),
                 std::runtime_error);
    EXPECT_EQ(lock.transaction([](pqxx::work& tx) { return left_in(tx); }), before);
}

TEST_F(transaction_sessions, stay_as_they_are_left_where_resetting_is_switched_off)
{
    client own{shared_postgres().conninfo(), {.reset_sessions = false}};
    auto lock = own.acquire(resource, {.ttl = 1h, .wait = 120s});
    lock.transaction([](pqxx::work& tx) { tx.exec("CREATE TEMP TABLE kept (a int)"); });
    EXPECT_NO_THROW(lock.transaction([](pqxx::work& tx) { tx.exec("TABLE kept"); }));
}

// Somebody may be waiting for it.
TEST_F(transaction_sessions, give_a_session_lock_back_without_being_used_again)
{
    auto lock = locks.acquire(resource, {.ttl = 1h});
    lock.transaction([](pqxx::work& tx) { tx.exec("SELECT pg_catalog.pg_advisory_lock(79)"); });
    EXPECT_TRUE(wait_until([] {
        return shared_postgres().query("SELECT count(*) FROM pg_locks WHERE locktype = "
                                       "'advisory' AND objid = 79") == "0";
    }));
}

// Version 6 of libpqxx remembers what it has prepared, whatever becomes of the session.
TEST_F(transaction_sessions, let_every_function_prepare_the_same_statement)
{
    auto lock = locks.acquire(resource, {.ttl = 1h});
    for (int i = 1; i <= 3; ++i)
        lock.transaction([&](pqxx::work& tx) {
            tx.conn().prepare("twice", "SELECT 2 * $1::int");
            EXPECT_EQ(execute_prepared(tx, "twice", i)[0][0].as<int>(), 2 * i);
        });
}

TEST_F(transaction_sessions, are_used_again)
{
    auto const application = "again_" + resource;
    client own{shared_postgres().conninfo() + " application_name=" + application};
    auto lock = own.acquire(resource, {.ttl = 1h, .wait = 120s});
    std::set<int> pids;
    for (int i = 0; i < 20; ++i)
        pids.insert(lock.transaction([](pqxx::work& tx) {
            return tx.exec("SELECT pg_catalog.pg_backend_pid()")[0][0].as<int>();
        }));
    EXPECT_LE(pids.size(), 4U); // one that is being reset, and one made meanwhile, now and then
}

TEST_F(transaction_sessions, read_committed_is_named_even_where_another_level_is_the_default)
{
    shared_postgres().create_database("strict");
    shared_postgres().query("CREATE EXTENSION fencelock", "strict");
    shared_postgres().query(
        "ALTER DATABASE strict SET default_transaction_isolation = 'serializable'");
    client strict{redis, shared_postgres().conninfo("strict"), {.fall_back = false}};
    auto lock = strict.acquire(resource, {.confirm = true});
    EXPECT_EQ(lock.transaction([](pqxx::work& tx) {
        auto const row = tx.exec("SELECT current_setting('transaction_isolation')");
        return row[0][0].as<std::string>();
    }),
              "read committed");
}

TEST_F(transaction_sessions, an_extension_of_an_earlier_version_is_named_with_what_to_do)
{
    shared_postgres().create_database("old");
    shared_postgres().query("CREATE EXTENSION fencelock VERSION '0.1.0'", "old");
    client of_old{redis, shared_postgres().conninfo("old"), {.fall_back = false}};
    auto lock = of_old.acquire(resource);
    try {
        lock.transaction([](pqxx::work&) { FAIL(); });
        FAIL();
    } catch (configuration_error const& e) {
        EXPECT_EQ(e.resource(), resource);
        EXPECT_NE(std::string_view{e.what()}.find("ALTER EXTENSION fencelock UPDATE"),
                  std::string_view::npos);
    }
}

TEST_F(transaction_sessions, survive_connections_that_were_closed_while_idle)
{
    auto lock = locks.acquire(resource);
    insert(lock);
    shared_postgres().query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                            "WHERE application_name = 'fencelock'");
    EXPECT_TRUE(wait_until([] {
        return shared_postgres()
                   .query(
                       "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fencelock'")
                   .value() == "0";
    }));
    update(lock, "after");
    EXPECT_EQ(status(), "after");
}

} // namespace
} // namespace fencelock::test
