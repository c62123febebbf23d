#pragma once

#include <filesystem>
#include <string>

namespace fencelock::test_support {

// A directory of its own, removed with all that is in it. Its path is short enough for a unix
// socket inside it.
class temporary_directory {
  public:
    explicit temporary_directory(const std::string& prefix);
    ~temporary_directory();
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int owner_pid_;
};

} // namespace fencelock::test_support
