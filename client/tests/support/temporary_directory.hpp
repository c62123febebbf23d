// A directory that goes with the test.
#pragma once

#include <filesystem>
#include <string>

namespace fencelock::test_support {

// A directory of its own, removed with all that is in it. Its path is short enough for a unix
// socket inside it.
class temporary_directory {
  public:
    explicit temporary_directory(std::string const& prefix);
    ~temporary_directory();
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int owner_pid_;
};

} // namespace fencelock::test_support
