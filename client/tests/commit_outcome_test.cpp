// Commits that are not answered: what became of them is found out, or said to be unknown.
#include "servers.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <atomic>
#include <future>
#include <string_view>

namespace {

std::atomic<bool> drop_answer_to_commit{false};
std::atomic<bool> garble_answer_to_commit{false};

} // namespace

struct pg_conn;
struct pg_result;
constexpr int fatal_error = 7; // libpq's PGRES_FATAL_ERROR

// In the place of libpq's own: no result is what it returns where there is no memory for one, and
// an error without fields is one of libpq itself.
extern "C" pg_result* PQexec(pg_conn* connection, char const* sql)
{
    static auto* const original = reinterpret_cast<decltype(&PQexec)>(::dlsym(RTLD_NEXT, "PQexec"));
    static auto* const clear =
        reinterpret_cast<void (*)(pg_result*)>(::dlsym(RTLD_NEXT, "PQclear"));
    auto* const result = original(connection, sql);
    static auto* const empty_result =
        reinterpret_cast<pg_result* (*)(pg_conn*, int)>(::dlsym(RTLD_NEXT, "PQmakeEmptyPGresult"));
    if (std::string_view{sql} != "COMMIT")
        return result;
    bool const drop = drop_answer_to_commit.exchange(false);
    bool const garble = garble_answer_to_commit.exchange(false);
    if (!drop && !garble)
        return result;
    clear(result);
    if (drop)
        return nullptr;
    original(connection, nullptr); // for its message, which the next call takes over
    return empty_result(connection, fatal_error);
}

namespace fencelock::test {
namespace {

// The COMMIT of a row of `answered` waits while this lives.
class commit_blocker {
  public:
    commit_blocker() { tx_.exec("SELECT pg_advisory_xact_lock(1)"); }
    void let_go() { tx_.abort(); }

  private:
    pqxx::connection connection_{shared_postgres().conninfo()};
    pqxx::work tx_{connection_};
};

class commit_outcomes : public ::testing::Test {
  protected:
    // A row of `answered` makes its COMMIT wait while a commit_blocker lives.
    static void SetUpTestSuite()
    {
        for (auto const* sql : {
                 "CREATE TABLE IF NOT EXISTS answered (name text)",
                 "CREATE OR REPLACE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS "
                 "'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END'",
                 "DROP TRIGGER IF EXISTS waits ON answered",
                 "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON answered DEFERRABLE INITIALLY "
                 "DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit()",
             })
            shared_postgres().query(sql);
    }

    void insert()
    {
        held.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO answered VALUES (" + tx.quote(resource) + ")");
        });
    }

    bool written() const
    {
        return shared_postgres().query("SELECT count(*) FROM answered WHERE name = '" + resource +
                                       "'") == "1";
    }

    // The session whose COMMIT waits.
    static std::optional<std::string> waiting_commit()
    {
        return shared_postgres().query("SELECT pid FROM pg_stat_activity WHERE wait_event_type = "
                                       "'Lock' AND wait_event = 'advisory'");
    }

    std::unique_ptr<client> client_with(std::chrono::milliseconds attempt_timeout)
    {
        return std::make_unique<client>(conninfo_through(proxy),
                                        client_options{.attempt_timeout = attempt_timeout});
    }

    test_support::tcp_proxy proxy{"127.0.0.1", shared_postgres().port()};
    std::unique_ptr<client> locks = client_with(60s);
    std::string resource = new_resource();
    lock held = locks->acquire(resource, {.ttl = 1h});
};

TEST_F(commit_outcomes, a_commit_whose_answer_was_lost_is_a_commit)
{
    proxy.drop_next_reply("COMMIT");
    EXPECT_NO_THROW(insert());
    EXPECT_EQ(proxy.replies_dropped(), 1U);
    EXPECT_TRUE(written());
}

TEST_F(commit_outcomes, a_commit_that_goes_on_is_waited_for)
{
    commit_blocker blocker;
    auto done = std::async(std::launch::async, [&] { insert(); });
    EXPECT_TRUE(wait_until([] { return waiting_commit().has_value(); }));
    proxy.cut_all();
    blocker.let_go();
    EXPECT_NO_THROW(done.get());
    EXPECT_TRUE(written());
}

TEST_F(commit_outcomes, a_commit_that_failed_is_known_to_have_written_nothing)
{
    commit_blocker blocker;
    auto done = std::async(std::launch::async, [&] { insert(); });
    EXPECT_TRUE(wait_until([] { return waiting_commit().has_value(); }));
    proxy.cut_all();
    shared_postgres().query("SELECT pg_terminate_backend(" + waiting_commit().value() + ")");
    EXPECT_THROW(done.get(), issuer_unavailable);
    EXPECT_FALSE(written());
    EXPECT_TRUE(held.held());
}

TEST_F(commit_outcomes, what_nobody_can_tell_is_unknown_until_somebody_can)
{
    std::string receipt;
    try {
        held.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO answered VALUES (" + tx.quote(resource) + ")");
            proxy.drop_next_reply("COMMIT");
            proxy.refuse();
        });
        FAIL();
    } catch (outcome_unknown const& e) {
        EXPECT_EQ(e.resource(), resource);
        EXPECT_EQ(e.token(), held.token());
        receipt = e.receipt();
        EXPECT_NE(std::string{e.what()}.find(receipt), std::string::npos);
    }
    EXPECT_THROW(locks->outcome(receipt), issuer_unavailable);
    proxy.accept_again();
    EXPECT_EQ(locks->outcome(receipt), commit_outcome::committed);
    EXPECT_TRUE(written());
}

TEST_F(commit_outcomes, one_that_does_not_end_in_time_can_be_asked_for_later)
{
    auto const impatient = client_with(300ms);
    auto lock = impatient->acquire(new_resource(), {.ttl = 1h, .wait = 120s});
    commit_blocker blocker;
    auto done = std::async(std::launch::async, [&] {
        lock.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO answered VALUES (" + tx.quote(resource) + ")");
        });
    });
    EXPECT_TRUE(wait_until([] { return waiting_commit().has_value(); }));
    proxy.cut_all();
    std::string receipt;
    try {
        done.get();
        FAIL();
    } catch (outcome_unknown const& e) {
        receipt = e.receipt();
    }
    EXPECT_EQ(locks->outcome(receipt), commit_outcome::in_progress);
    blocker.let_go();
    EXPECT_TRUE(wait_until([&] { return locks->outcome(receipt) == commit_outcome::committed; }));
}

// As where there is no memory for it.
TEST_F(commit_outcomes, a_commit_whose_answer_the_client_could_not_take_is_a_commit)
{
    drop_answer_to_commit = true;
    EXPECT_NO_THROW(insert());
    EXPECT_FALSE(drop_answer_to_commit);
    EXPECT_TRUE(written());
    EXPECT_NO_THROW(held.transaction([](pqxx::work& tx) { tx.exec("SELECT 1"); }));
}

TEST_F(commit_outcomes, a_commit_that_failed_without_a_code_may_be_a_commit)
{
    garble_answer_to_commit = true;
    EXPECT_NO_THROW(insert());
    EXPECT_FALSE(garble_answer_to_commit);
    EXPECT_TRUE(written());
    EXPECT_NO_THROW(held.transaction([](pqxx::work& tx) { tx.exec("SELECT 1"); }));
}

TEST_F(commit_outcomes, a_crash_in_between_leaves_it_unknown)
{
    test_support::postgres_server server;
    install_extension(server);
    server.query("CREATE TABLE answered (name text)");
    test_support::tcp_proxy to_server{"127.0.0.1", server.port()};
    client through{conninfo_through(to_server)};
    auto lock = through.acquire(resource, {.ttl = 1h});
    std::string receipt;
    try {
        lock.transaction([&](pqxx::work& tx) {
            tx.exec("INSERT INTO answered VALUES ('x')");
            to_server.drop_next_reply("COMMIT");
            to_server.refuse();
        });
        FAIL();
    } catch (outcome_unknown const& e) {
        receipt = e.receipt();
    }
    server.crash();
    server.start();
    to_server.accept_again();
    EXPECT_EQ(through.outcome(receipt), commit_outcome::unknown);
}

TEST_F(commit_outcomes, a_receipt_of_the_callers_own_transaction_will_do)
{
    pqxx::connection connection{shared_postgres().conninfo()};
    std::string receipt;
    {
        pqxx::work tx{connection};
        receipt = tx.exec("SELECT \"Fence it\".fence_receipt()")[0][0].c_str();
        EXPECT_EQ(locks->outcome(receipt), commit_outcome::in_progress);
    }
    EXPECT_EQ(locks->outcome(receipt), commit_outcome::aborted);
    EXPECT_THROW(locks->outcome("no receipt"), invalid_argument);
}

} // namespace
} // namespace fencelock::test
