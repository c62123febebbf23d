// What doctor collects.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "redis_look.hpp"

namespace fencelock::cli {

struct finding {
    std::string server; ///< redis, or one of several servers by its address, or database
    std::string what;
    std::string remedy;
};

/// What is found on one server, added to what is found on all.
class findings {
  public:
    findings(std::vector<finding>& all, std::string server) : all_{all}, server_{std::move(server)}
    {
    }

    void add(std::string what, std::string remedy)
    {
        all_.push_back({server_, std::move(what), std::move(remedy)});
    }

    /// Could not be looked at: no finding, but said on stderr.
    void not_checked(std::string const& what) const;

  private:
    std::vector<finding>& all_;
    std::string server_;
};

/// Add to `all`; throw issuer_unavailable where no server can be reached.
void examine_redis(arguments const& given, std::vector<finding>& all);
void examine_database(arguments const& given, std::vector<finding>& all);

/// The commands that this user may not use.
void check_redis_rights(findings& found, redis_look& redis, key_preset preset);

/// Each of the sentinels that the URL names, and whether they agree.
void examine_sentinels(redis_look& redis, detail::redis_target const& target,
                       std::vector<finding>& all);

/// The cluster as the node sees it to which `redis` goes.
void check_cluster(findings& found, redis_look& redis);

/// The finding about a server whose clock showed `server_ms` between `before_ms` and `after_ms` of
/// this machine's, if there is one.
void compare_clocks(findings& found, std::int64_t server_ms, std::int64_t before_ms,
                    std::int64_t after_ms);

/// Of this machine's clock, since 1970.
std::int64_t local_ms();

} // namespace fencelock::cli
