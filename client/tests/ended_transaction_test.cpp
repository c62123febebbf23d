// A function that ends the transaction it was given: what was written is never told wrongly.
#include "transaction_fixture.hpp"

namespace fencelock::test {
namespace {

class ended_transactions : public transaction_fixture {
  protected:
    void SetUp() override { insert(lock); }

    // Writes 'half', then does what `ending` does.
    template <typename Ending>
    void run(Ending const& ending)
    {
        lock.transaction([&](pqxx::work& tx) {
            tx.exec("UPDATE guarded SET status = 'half' WHERE name = " + tx.quote(resource));
            ending(tx);
        });
    }

    template <typename Ending>
    void expect_nothing_written(Ending const& ending)
    {
        try {
            run(ending);
            ADD_FAILURE();
        } catch (invalid_argument const& e) {
            expect_named(e);
            EXPECT_NE(std::string{e.what()}.find("nothing was written"), std::string::npos);
        }
        EXPECT_EQ(status(), "new");
        expect_usable();
    }

    template <typename Ending>
    void expect_unknown(Ending const& ending, commit_outcome const outcome,
                        std::string const& words)
    {
        try {
            run(ending);
            ADD_FAILURE();
        } catch (outcome_unknown const& e) {
            expect_named(e);
            EXPECT_NE(std::string{e.what()}.find(words), std::string::npos) << e.what();
            EXPECT_EQ(locks.outcome(e.receipt()), outcome);
        }
        EXPECT_EQ(status(), outcome == commit_outcome::committed ? "half" : "new");
        expect_usable();
    }

    fencelock::lock lock = locks.acquire(resource, {.ttl = 1h});

  private:
    void expect_named(error const& e)
    {
        EXPECT_EQ(e.resource(), resource);
        EXPECT_EQ(e.token(), lock.token());
        EXPECT_NE(std::string{e.what()}.find("token " + std::to_string(lock.token()) +
                                             " of resource \"" + resource + "\""),
                  std::string::npos)
            << e.what();
    }

    void expect_usable()
    {
        EXPECT_TRUE(lock.held());
        update(lock, "next");
        EXPECT_EQ(status(), "next");
    }
};

struct my_error : std::runtime_error {
    my_error() : std::runtime_error{"mine"} {}
};

TEST_F(ended_transactions, by_a_commit_are_no_failure_that_may_be_repeated)
{
    expect_unknown([](pqxx::work& tx) { tx.commit(); }, commit_outcome::committed,
                   "it was committed");
}

TEST_F(ended_transactions, by_a_commit_before_an_exception_are_not_rolled_back)
{
    expect_unknown(
        [](pqxx::work& tx) {
            tx.commit();
            throw my_error{};
        },
        commit_outcome::committed, "it was committed");
}

TEST_F(ended_transactions, by_a_commit_that_was_not_answered_are_asked_for)
{
    test_support::tcp_proxy proxy{"127.0.0.1", shared_postgres().port()};
    client through{conninfo_through(proxy)};
    auto const name = new_resource();
    auto held = through.acquire(name, {.ttl = 1h});
    try {
        held.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO guarded VALUES (" + tx.quote(name) + ", 'half')");
            proxy.drop_next_reply("COMMIT");
            tx.commit();
        });
        ADD_FAILURE();
    } catch (outcome_unknown const& e) {
        EXPECT_NE(std::string{e.what()}.find("it was committed"), std::string::npos) << e.what();
        EXPECT_EQ(through.outcome(e.receipt()), commit_outcome::committed);
    }
    EXPECT_EQ(proxy.replies_dropped(), 1U);
}

TEST_F(ended_transactions, by_abort_have_written_nothing)
{
    expect_nothing_written([](pqxx::work& tx) { tx.abort(); });
}

TEST_F(ended_transactions, by_abort_before_an_exception_let_that_out)
{
    EXPECT_THROW(run([](pqxx::work& tx) {
                     tx.abort();
                     throw my_error{};
                 }),
                 my_error);
    EXPECT_EQ(status(), "new");
}

TEST_F(ended_transactions, by_an_error_that_was_swallowed_have_written_nothing)
{
    expect_nothing_written([](pqxx::work& tx) { EXPECT_ANY_THROW(tx.exec("SELECT 1/0")); });
}

TEST_F(ended_transactions, by_a_commit_that_failed_have_written_nothing)
{
    shared_postgres().query("CREATE TABLE IF NOT EXISTS once (name text UNIQUE DEFERRABLE "
                            "INITIALLY DEFERRED)");
    expect_nothing_written([&](pqxx::work& tx) {
        for (int i = 0; i < 2; ++i)
            tx.exec("INSERT INTO once VALUES (" + tx.quote(resource) + ")");
        EXPECT_ANY_THROW(tx.commit());
    });
}

TEST_F(ended_transactions, by_sql_are_no_success_whatever_followed)
{
    for (std::string const sql : {"ROLLBACK", "ROLLBACK; BEGIN"}) {
        expect_unknown([&](pqxx::work& tx) { tx.exec(sql); }, commit_outcome::aborted,
                       "it was rolled back, and what followed");
        update(lock, "new");
    }
    expect_unknown([](pqxx::work& tx) { tx.exec("COMMIT"); }, commit_outcome::committed,
                   "it was committed, and what followed");
}

TEST_F(ended_transactions, by_sql_before_an_exception_are_no_failure_that_may_be_repeated)
{
    expect_unknown(
        [](pqxx::work& tx) {
            tx.exec("COMMIT");
            throw my_error{};
        },
        commit_outcome::committed, "it was committed");
}

// There the server cannot be asked whether it is still the same one.
TEST_F(ended_transactions, by_sql_are_found_behind_whatever_followed)
{
    for (std::string const sql :
         {"COMMIT AND CHAIN; SELECT 1/0", "COMMIT; BEGIN READ ONLY; SELECT 1/0"}) {
        expect_unknown([&](pqxx::work& tx) { tx.exec(sql); }, commit_outcome::committed,
                       "it was committed");
        update(lock, "new");
    }
    expect_unknown([](pqxx::work& tx) { tx.exec("COMMIT; BEGIN READ ONLY"); },
                   commit_outcome::committed, "it was committed");
    update(lock, "new");
    expect_unknown(
        [](pqxx::work& tx) {
            tx.exec("COMMIT; BEGIN READ ONLY");
            throw my_error{};
        },
        commit_outcome::committed, "it was committed");
}

TEST_F(ended_transactions, of_several_locks_name_them_all)
{
    auto const other = new_resource();
    lock.release();
    auto both = locks.acquire({resource, other});
    try {
        both.transaction([](pqxx::work& tx) { tx.abort(); });
        ADD_FAILURE();
    } catch (invalid_argument const& e) {
        for (auto const& name : {resource, other})
            EXPECT_NE(std::string{e.what()}.find("\"" + name + "\""), std::string::npos);
    }
}

TEST_F(ended_transactions, on_a_connection_of_the_callers_are_told_as_well)
{
    pqxx::connection connection{shared_postgres().conninfo()};
    EXPECT_THROW(lock.transaction(connection, [](pqxx::work& tx) { tx.abort(); }),
                 invalid_argument);
    EXPECT_THROW(lock.transaction(connection, [](pqxx::work& tx) { tx.commit(); }),
                 outcome_unknown);
    EXPECT_EQ(lock.transaction(connection, [](pqxx::work&) { return 1; }), 1);
}

TEST_F(ended_transactions, by_a_broken_connection_have_written_nothing_whoever_noticed)
{
    pqxx::connection connection{shared_postgres().conninfo()};
    auto const cut = [&](pqxx::work& tx) {
        auto const pid = tx.exec("SELECT pg_backend_pid()")[0][0].as<std::string>();
        tx.exec("UPDATE guarded SET status = 'half' WHERE name = " + tx.quote(resource));
        shared_postgres().query("SELECT pg_terminate_backend(" + pid + ")");
        EXPECT_THROW(while (true) tx.exec("SELECT 1"), pqxx::broken_connection);
    };
    EXPECT_THROW(lock.transaction(connection,
                                  [&](pqxx::work& tx) {
                                      cut(tx);
                                      throw my_error{};
                                  }),
                 my_error);
    EXPECT_EQ(status(), "new");
    pqxx::connection second{shared_postgres().conninfo()};
    EXPECT_THROW(lock.transaction(second, cut), issuer_unavailable);
    EXPECT_EQ(status(), "new");
}

} // namespace
} // namespace fencelock::test
