// Runs the command line on a terminal of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fencelock::test {

struct terminal_outcome {
    int code;
    std::string said; ///< stdout and stderr, as the terminal got them
};

/// One that runs, until it ends or this does.
class terminal_program {
  public:
    /// In a window of 80 columns. `environment` is NAME=VALUE, over what FENCELOCK_*, PG*, TERM and
    /// NO_COLOR of the caller's would say, which are unset.
    explicit terminal_program(std::vector<std::string> const& arguments,
                              std::vector<std::string> const& environment = {});
    ~terminal_program(); ///< SIGKILL where it still runs
    terminal_program(terminal_program const&) = delete;
    terminal_program& operator=(terminal_program const&) = delete;

    void type(std::string const& keys) const;

    /// Waits until it has said `text`; false where it ends without.
    bool says(std::string const& text);

    /// To its end.
    terminal_outcome wait();

  private:
    bool read_more();

    int terminal_ = -1;
    pid_t pid_ = -1;
    std::string said_;
};

} // namespace fencelock::test
