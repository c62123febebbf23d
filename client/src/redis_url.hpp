// Where Redis is and who we are there, from a URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fencelock/redis_locks.hpp>

namespace fencelock::detail {

/// One server.
struct redis_address {
    std::string host;        ///< name or address; empty for a socket
    std::string port;        ///< decimal
    std::string socket_path; ///< empty for TCP
    std::string user;        ///< empty: the default user
    std::string password;    ///< empty: no AUTH
    int database = 0;

    /// For messages: the place, without user and password. No two places have the same.
    std::string display() const;

    bool is_same_server(redis_address const& other) const
    {
        return host == other.host && port == other.port && socket_path == other.socket_path;
    }
};

struct redis_target {
    enum class kind { server, sentinels, cluster };

    kind what = kind::server;
    std::vector<redis_address> servers; ///< it; the sentinels; nodes to start from
    std::string primary_name;           ///< by which the sentinels know it
    redis_address login;                ///< user, password, database where servers are found
    std::optional<tls_options> tls;     ///< nothing: no TLS
};

/// See redis_locks for what a URL may be. IPv6 addresses stand in brackets. Default port 6379,
/// default database 0; a password without a user is `redis://:password@host`. What the URL does not
/// say about TLS is taken from the options. Throws invalid_argument; its message never repeats the
/// URL, which may hold a password.
redis_target parse_redis_url(std::string_view url, redis_options const& options = {});

} // namespace fencelock::detail
