#include "standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <stdexcept>
#include <system_error>

namespace fencelock::cli {

// open() takes the lowest descriptor that is free, and those below this one are taken by now.
void occupy_closed_streams()
{
    for (int const fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) != -1)
            continue;
        int const against_use = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (::open("/dev/null", against_use | O_CLOEXEC) != fd)
            throw std::system_error{errno, std::system_category(),
                                    "descriptor " + std::to_string(fd) +
                                        " is closed, and cannot be opened on /dev/null"};
    }
}

void flush_output(std::string const& consequence)
{
    errno = 0; // stays 0 where it was an earlier write that failed
    if (std::cout.flush())
        return;
    auto const why = errno == 0 ? "" : ": " + std::system_category().message(errno);
    throw std::runtime_error{"cannot write to standard output" + why + consequence};
}

} // namespace fencelock::cli
