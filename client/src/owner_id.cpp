#include "owner_id.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace fencelock::detail {

std::string new_owner_id()
{
    std::array<unsigned char, 16> bytes;
    while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        if (errno != EINTR)
            throw std::system_error{errno, std::system_category(), "getrandom"};
    std::string id;
    for (auto const byte : bytes) {
        id += "0123456789abcdef"[byte >> 4];
        id += "0123456789abcdef"[byte & 15];
    }
    return id;
}

} // namespace fencelock::detail
