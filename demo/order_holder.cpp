// A worker that changes orders under a lock, one step for each line that it reads, so that it can
// be stopped between two of them as an unlucky process is.
//
//   acquire TTL_MS WAIT_MS   granted TOKEN ISSUER | busy
//   left                     left MS | lost
//   write STATUS             written | refused MESSAGE
//   release                  released | lost
//
// Usage: order_holder NAME REDIS_URL CONNINFO ORDER_ID
#include <fencelock/client.hpp>
#include <pqxx/pqxx>

#include <chrono>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace {

class worker {
  public:
    worker(std::string name, const std::string& redis_url, const std::string& conninfo,
           std::string order)
        : name_{std::move(name)}, order_{std::move(order)}, redis_{redis_url},
          locks_{redis_, conninfo}, database_{conninfo}
    {
    }

    std::string obey(const std::string& line)
    {
        std::istringstream words{line};
        std::string verb;
        words >> verb;
        if (verb == "acquire") {
            long ttl = 0;
            long wait = 0;
            words >> ttl >> wait;
            return acquire(std::chrono::milliseconds{ttl}, std::chrono::milliseconds{wait});
        }
        if (verb == "write") {
            std::string status;
            words >> status;
            return write(status);
        }
        if (verb == "left")
            return left();
        if (verb == "release")
            return release();
        return "unknown command: " + line;
    }

  private:
    std::string acquire(std::chrono::milliseconds ttl, std::chrono::milliseconds wait)
    {
        lock_ = locks_.try_acquire("order:" + order_, {.ttl = ttl, .wait = wait, .confirm = true});
        if (!lock_)
            return "busy";
        return "granted " + std::to_string(lock_->token()) + " " +
               std::string{lock_->issuer_name()};
    }

    // How long the lease is sure to last, by this process's own clock.
    std::string left()
    {
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
            lock_.value().valid_until() - std::chrono::steady_clock::now());
        return rest.count() > 0 ? "left " + std::to_string(rest.count()) : "lost";
    }

    // An ordinary statement of an ordinary program, which writes its token into the row and does
    // not look at its lease again: between that look and this write there is always a moment.
    std::string write(const std::string& status)
    {
        try {
            pqxx::work tx{database_};
            tx.exec("UPDATE orders SET status = " + tx.quote(status) + ", changed_by = " +
                    tx.quote(name_) + ", fence_token = " + std::to_string(lock_.value().token()) +
                    " WHERE id = " + tx.quote(order_));
            tx.commit();
            return "written";
        } catch (const pqxx::sql_error& e) {
            return "refused " + one_line(e.what());
        }
    }

    std::string release()
    {
        const bool ours = lock_.value().release() == fencelock::release_outcome::released;
        lock_.reset();
        return ours ? "released" : "lost";
    }

    static std::string one_line(std::string text)
    {
        for (char& c : text)
            c = c == '\n' ? '|' : c;
        return text;
    }

    std::string name_;
    std::string order_;
    fencelock::redis_locks redis_;
    fencelock::client locks_;
    pqxx::connection database_;
    std::optional<fencelock::lock> lock_;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5) {
        std::cerr << "usage: order_holder NAME REDIS_URL CONNINFO ORDER_ID\n";
        return 64;
    }
    try {
        worker holder{argv[1], argv[2], argv[3], argv[4]};
        for (std::string line; std::getline(std::cin, line);)
            std::cout << holder.obey(line) << std::endl;
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "order_holder " << argv[1] << ": " << e.what() << '\n';
        return 70;
    }
}
