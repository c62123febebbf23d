// What doctor collects.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"

namespace fencelock::cli {

struct finding {
    std::string server; ///< redis, or a node of a cluster by its address, or database
    std::string what;
    std::string remedy;
};

class findings {
  public:
    explicit findings(std::string server) : server_{std::move(server)} {}

    void add(std::string what, std::string remedy)
    {
        found_.push_back({server_, std::move(what), std::move(remedy)});
    }

    /// Could not be looked at: no finding, but said on stderr.
    void not_checked(std::string const& what) const;

    std::vector<finding> const& all() const noexcept { return found_; }

  private:
    std::string server_;
    std::vector<finding> found_;
};

/// Throw issuer_unavailable where the server cannot be reached.
std::vector<finding> examine_redis(arguments const& given);
std::vector<finding> examine_database(arguments const& given);

/// The finding about a server whose clock showed `server_ms` between `before_ms` and `after_ms` of
/// this machine's, if there is one.
void compare_clocks(findings& found, std::int64_t server_ms, std::int64_t before_ms,
                    std::int64_t after_ms);

/// Of this machine's clock, since 1970.
std::int64_t local_ms();

} // namespace fencelock::cli
