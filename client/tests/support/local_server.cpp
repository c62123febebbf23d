#include "local_server.hpp"
#include "socket.hpp"
#include "wait_until.hpp"

#include <stdexcept>
#include <utility>

namespace fencelock::test_support {

local_server::local_server(std::string name, std::string const& directory_prefix)
    : name_{std::move(name)}, directory_{directory_prefix}, port_{free_port()}
{
}

// Somebody else may take the port between the look and the start; then the server ends at once.
void local_server::start_on_a_free_port()
{
    for (int attempt = 1;; ++attempt) {
        try {
            start();
            return;
        } catch (std::runtime_error const&) {
            bool const taken = tail_of(log_file()).find("already in use") != std::string::npos;
            if (!taken || attempt == 20)
                throw;
            std::filesystem::remove(log_file());
            port_ = free_port();
        }
    }
}

void local_server::start()
{
    if (running())
        return;
    auto child = program();
    child.output = log_file();
    process_ = std::make_unique<child_process>(child);
    bool const up = wait_until([this] { return !running() || answers(); });
    if (up && running())
        return;
    kill();
    throw std::runtime_error{name_ + " on port " + std::to_string(port_) +
                             (up ? " ended at its start:\n" : " does not answer:\n") +
                             tail_of(log_file())};
}

bool local_server::running()
{
    return process_ && process_->running();
}

pid_t local_server::pid() const
{
    if (!process_)
        throw std::runtime_error{name_ + " is not running"};
    return process_->pid();
}

void local_server::send(int signal)
{
    if (process_)
        process_->send(signal);
}

void local_server::end(int signal)
{
    send(signal);
    if (process_ && !process_->wait(generous_limit))
        throw std::runtime_error{name_ + " does not stop:\n" + tail_of(log_file())};
    kill();
}

std::filesystem::path local_server::log_file() const
{
    return directory() / (name_ + ".log");
}

} // namespace fencelock::test_support
