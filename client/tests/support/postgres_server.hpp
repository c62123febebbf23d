// A PostgreSQL server of the test's own.
#pragma once

#include "local_server.hpp"

#include <optional>
#include <string>
#include <vector>

namespace fencelock::test_support {

struct postgres_options {
    bool fsync = false;                  // crash() needs none: the kernel keeps what was written
    std::vector<std::string> settings{}; // "name=value"
};

// A private PostgreSQL server with a new cluster: on a free port of 127.0.0.1 and on a unix socket,
// superuser "postgres" without a password. Run by the user postgres where the test is run by root.
// The program comes from PG_CONFIG's directory, else it is the newest installed.
class postgres_server final : public local_server {
  public:
    explicit postgres_server(postgres_options options = {}); // started, and accepting
    ~postgres_server();                                      // fast shutdown

    void stop();    // fast shutdown: sessions are ended, their transactions rolled back
    void crash();   // immediate shutdown: the next start recovers from the WAL
    void restart(); // stop and start
    void set(std::string const& setting); // "name=value", from the next start on

    [[nodiscard]] std::filesystem::path socket_directory() const;
    [[nodiscard]] std::filesystem::path data_directory() const;
    [[nodiscard]] std::string conninfo(std::string const& database = "postgres") const;

    void create_database(std::string const& name) const;
    // Runs SQL through a connection of its own, independent of the code under test. The first
    // column of the first row; nullopt for NULL or no row. Throws with the server's message.
    std::optional<std::string> query(std::string const& sql,
                                     std::string const& database = "postgres") const;

    // Where postgres, initdb, psql ... are.
    static std::filesystem::path bin_directory();

  private:
    void make_cluster();
    [[nodiscard]] child_options program() const override;
    [[nodiscard]] bool answers() const override;

    postgres_options options_;
    std::filesystem::path bin_directory_ = bin_directory();
};

} // namespace fencelock::test_support
