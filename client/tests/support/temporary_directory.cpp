#include "temporary_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <unistd.h>

namespace fencelock::test_support {

namespace {

// A unix socket's path has at most 107 bytes; servers add up to 40 to the directory's.
std::filesystem::path short_base()
{
    constexpr std::size_t longest_base = 40;
    std::error_code ignored;
    auto const base = std::filesystem::temp_directory_path(ignored);
    return base.empty() || base.native().size() > longest_base ? std::filesystem::path{"/tmp"}
                                                               : base;
}

} // namespace

temporary_directory::temporary_directory(std::string const& prefix) : owner_pid_{getpid()}
{
    std::string name = (short_base() / (prefix + ".XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr)
        throw std::system_error{errno, std::generic_category(), "mkdtemp " + name};
    path_ = name;
}

temporary_directory::~temporary_directory()
{
    // A forked child of a test has a copy of this object, but the directory is not its own.
    if (owner_pid_ != getpid())
        return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

} // namespace fencelock::test_support
