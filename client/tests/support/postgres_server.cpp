#include "postgres_server.hpp"
#include "socket.hpp"
#include "wait_until.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <pwd.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fencelock::test_support {

namespace {

struct finish_connection {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct clear_result {
    void operator()(PGresult* result) const { PQclear(result); }
};
using connection_ptr = std::unique_ptr<PGconn, finish_connection>;
using result_ptr = std::unique_ptr<PGresult, clear_result>;

// PostgreSQL refuses to be run by root.
std::optional<std::string> server_user()
{
    if (geteuid() != 0)
        return std::nullopt;
    return "postgres";
}

void give_to_server_user(std::filesystem::path const& directory)
{
    auto const user = server_user();
    if (!user)
        return;
    passwd const* entry = getpwnam(user->c_str());
    if (entry == nullptr)
        throw std::runtime_error{"no user \"postgres\" on this machine"};
    if (chown(directory.c_str(), entry->pw_uid, entry->pw_gid) != 0)
        throw std::system_error{errno, std::generic_category(), "chown " + directory.string()};
}

// A sane locale and no PG* variable of the caller's.
std::vector<std::string> server_environment()
{
    return {"LC_ALL=C", "PGDATA", "PGPORT", "PGHOST", "PGOPTIONS", "PGSERVICE"};
}

std::string first_line_of(std::string const& command)
{
    std::array<char, 4096> line{};
    FILE* pipe = popen(command.c_str(), "r"); // NOLINT(cert-env33-c): of this test's own making
    if (pipe == nullptr)
        return {};
    bool const read = std::fgets(line.data(), line.size(), pipe) != nullptr;
    pclose(pipe);
    std::string text = read ? line.data() : "";
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

// The directory of the highest version below /usr/lib/postgresql, Debian's place for servers.
std::filesystem::path newest_installed()
{
    std::filesystem::path newest;
    long highest = 0;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator{"/usr/lib/postgresql", none}) {
        auto const version = std::strtol(entry.path().filename().c_str(), nullptr, 10);
        if (version > highest && std::filesystem::exists(entry.path() / "bin" / "initdb")) {
            highest = version;
            newest = entry.path() / "bin";
        }
    }
    return newest;
}

} // namespace

std::filesystem::path postgres_server::bin_directory()
{
    char const* chosen = std::getenv("PG_CONFIG");
    if (chosen == nullptr || *chosen == '\0') {
        if (auto newest = newest_installed(); !newest.empty())
            return newest;
        chosen = "pg_config";
    }
    std::filesystem::path found =
        first_line_of("'" + std::string{chosen} + "' --bindir 2>/dev/null");
    if (found.empty() || !std::filesystem::exists(found / "initdb"))
        throw std::runtime_error{"no PostgreSQL server found by " + std::string{chosen} +
                                 " (set PG_CONFIG, or install postgresql)"};
    return found;
}

postgres_server::postgres_server(postgres_options options)
    : local_server{"postgres", "fencelock-pg"}, options_{std::move(options)}
{
    make_cluster();
    start_on_a_free_port();
}

// A fast shutdown in time is orderly; else the process is killed.
postgres_server::~postgres_server()
try {
    end(SIGINT);
} catch (std::exception const&) {
}

void postgres_server::make_cluster()
{
    give_to_server_user(directory());
    child_options child;
    child.argv = {(bin_directory_ / "initdb").string(), "-D", data_directory().string()};
    child.argv.insert(child.argv.end(), {"-U", "postgres", "-A", "trust", "--no-sync"});
    child.argv.insert(child.argv.end(), {"--no-locale", "-E", "UTF8"});
    child.environment = server_environment();
    child.output = log_file();
    child.user = server_user();
    child_process initdb{child};
    if (initdb.wait(generous_limit) != 0)
        throw std::runtime_error{"initdb failed:\n" + tail_of(log_file())};
}

child_options postgres_server::program() const
{
    child_options child;
    child.argv = {(bin_directory_ / "postgres").string(), "-D", data_directory().string()};
    auto const add = [&child](std::string const& setting) {
        child.argv.insert(child.argv.end(), {"-c", setting});
    };
    add("port=" + std::to_string(port()));
    add("listen_addresses=127.0.0.1");
    add("unix_socket_directories=" + socket_directory().string());
    add(std::string{"fsync="} + (options_.fsync ? "on" : "off"));
    add("shared_buffers=32MB"); // several at once on a small machine
    add("log_line_prefix=%m [%p] %q%a ");
    for (auto const& setting : options_.settings)
        add(setting);
    child.environment = server_environment();
    child.user = server_user();
    child.signal_on_parent_death = SIGQUIT; // immediate shutdown, which ends all its processes
    return child;
}

bool postgres_server::answers() const
{
    return PQping(conninfo().c_str()) == PQPING_OK;
}

void postgres_server::stop()
{
    end(SIGINT);
}

void postgres_server::crash()
{
    end(SIGQUIT);
}

void postgres_server::restart()
{
    stop();
    start();
}

void postgres_server::set(std::string const& setting)
{
    options_.settings.push_back(setting);
}

std::filesystem::path postgres_server::socket_directory() const
{
    return directory();
}

std::filesystem::path postgres_server::data_directory() const
{
    return directory() / "data";
}

std::string postgres_server::conninfo(std::string const& database) const
{
    return "host=" + socket_directory().string() + " port=" + std::to_string(port()) +
           " user=postgres dbname='" + database + "'";
}

void postgres_server::create_database(std::string const& name) const
{
    std::string quoted;
    for (char const c : name)
        quoted += c == '"' ? std::string{"\"\""} : std::string{c};
    query("DROP DATABASE IF EXISTS \"" + quoted + "\" WITH (FORCE)");
    query("CREATE DATABASE \"" + quoted + "\"");
}

std::optional<std::string> postgres_server::query(std::string const& sql,
                                                  std::string const& database) const
{
    connection_ptr const connection{PQconnectdb(conninfo(database).c_str())};
    if (PQstatus(connection.get()) != CONNECTION_OK)
        throw std::runtime_error{PQerrorMessage(connection.get())};
    result_ptr const result{PQexec(connection.get(), sql.c_str())};
    auto const status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        throw std::runtime_error{PQerrorMessage(connection.get())};
    if (PQntuples(result.get()) == 0 || PQgetisnull(result.get(), 0, 0) != 0)
        return std::nullopt;
    return PQgetvalue(result.get(), 0, 0);
}

} // namespace fencelock::test_support
