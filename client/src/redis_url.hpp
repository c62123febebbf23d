// Where a Redis server is and who we are there, from a URL.
#pragma once

#include <string>
#include <string_view>

namespace fencelock::detail {

struct redis_address {
    std::string host;        ///< name or address; empty for a socket
    std::string port;        ///< decimal
    std::string socket_path; ///< empty for TCP
    std::string user;        ///< empty: the default user
    std::string password;    ///< empty: no AUTH
    int database = 0;

    /// For messages: the place, without user and password.
    std::string display() const;
};

/// `redis://[user[:password]@]host[:port][/db]`, or `unix:` / `redis+unix:` with
/// `//[user[:password]@]/path[?db=n]`. User and password may be percent-encoded. IPv6 addresses
/// stand in brackets. Default port 6379, default database 0; a password without a user is
/// `redis://:password@host`. Throws invalid_argument; its message never repeats the URL, which may
/// hold a password.
redis_address parse_redis_url(std::string_view url);

} // namespace fencelock::detail
