// Runs the command line as a shell does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace fencelock::test {

struct cli_outcome {
    int code;
    std::string out; ///< stdout
    std::string err; ///< stderr
};

/// What acquire prints of a lock.
struct printed_grant {
    std::string resource, token, owner, issuer;
};

printed_grant grant_in(cli_outcome const& outcome);

/// One that runs, until it ends or this does.
class cli_program {
  public:
    /// `environment` as child_options has it; FENCELOCK_* and PGOPTIONS of the caller are unset.
    /// `redirections` as the shell has them.
    explicit cli_program(std::vector<std::string> const& arguments,
                         std::vector<std::string> const& environment = {},
                         std::string const& redirections = {});

    /// Waits until stdout contains `text`.
    bool says(std::string const& text) const;

    void send(int signal) { process_->send(signal); }
    pid_t pid() const { return process_->pid(); }
    cli_outcome wait();

  private:
    std::string out() const;

    test_support::temporary_directory directory_{"fencelock-cli"};
    std::unique_ptr<test_support::child_process> process_;
};

cli_outcome run_cli(std::vector<std::string> const& arguments,
                    std::vector<std::string> const& environment = {},
                    std::string const& redirections = {});

} // namespace fencelock::test
