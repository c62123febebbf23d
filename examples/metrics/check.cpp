// Shows the recipe at work: a holder whose token is refused, in the counters and in the log.
// usage: check METRICS_FILE
#include "metrics.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <pqxx/pqxx>

using namespace std::chrono_literals;

namespace {

int failed = 0;

void check(const std::string& what, bool good)
{
    std::cout << (good ? "ok - " : "not ok - ") << what << std::endl;
    failed += good ? 0 : 1;
}

// The SQLSTATE that a holder's write to its order ends with, by the library's exception.
std::string refusal_of(fencelock::lock& holder, const std::string& statement)
{
    try {
        holder.transaction([&](pqxx::work& tx) { tx.exec(statement); });
        return "none";
    } catch (const fencelock::stale_token& e) {
        std::cout << "# " << e.what() << '\n';
        return "LF001";
    } catch (const fencelock::token_required& e) {
        std::cout << "# " << e.what() << '\n';
        return "LF002";
    }
}

// Whoever comes next, by whatever way it gets its token.
void claim_as_next_holder(pqxx::connection& database, const std::string& resource)
{
    pqxx::nontransaction tx{database};
    const auto token = tx.exec_params("SELECT fence_issue($1)", resource)[0][0].as<long>();
    tx.exec_params("SELECT fence_check($1, $2)", resource, token);
}

std::string content_of(const char* file)
{
    std::ostringstream content;
    content << std::ifstream{file}.rdbuf();
    return content.str();
}

bool has_line(const std::string& text, const std::string& line)
{
    return ('\n' + text).find('\n' + line + '\n') != std::string::npos;
}

void story(const char* metrics_file)
{
    std::ostringstream log;
    fencelock::redis_locks redis{std::getenv("REDIS_URL")};
    fencelock::client locks{redis, "", {.log = log_to(log)}}; // PGHOST ... say where
    pqxx::connection database{""};

    auto holder = locks.acquire("order:1001", {.ttl = 60s, .wait = 60s});
    check("the good write is accepted",
          refusal_of(holder, "UPDATE orders SET status = 'confirmed' WHERE id = 1001") == "none");
    check("the forgotten token is refused: LF002",
          refusal_of(holder, "UPDATE orders SET status = 'sent' WHERE id = 1002") == "LF002");
    claim_as_next_holder(database, "order:1001");
    check("the stale write is refused: LF001",
          refusal_of(holder, "UPDATE orders SET status = 'sent' WHERE id = 1001") == "LF001");

    write_metrics(metrics_file, locks.counters());
    const auto metrics = content_of(metrics_file);
    std::cout << metrics << log.str();
    check("the lock is counted", has_line(metrics, "fencelock_client_acquired_total 1"));
    check("the refusal is counted", has_line(metrics, "fencelock_client_refused_total 1") &&
                                        has_line(metrics, "fencelock_client_lost_total 1"));
    const auto refused =
        "level=warning resource=\"order:1001\" token=" + std::to_string(holder.token()) +
        " message=\"";
    check("the refusal is in the log", log.str().find(refused) != std::string::npos);
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 2)
        throw std::invalid_argument{"usage: check METRICS_FILE"};
    story(argv[1]);
    return failed == 0 ? 0 : 1;
} catch (const std::exception& e) {
    std::cout << "not ok - " << e.what() << '\n';
    return 1;
}
