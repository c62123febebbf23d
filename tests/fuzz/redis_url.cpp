// URLs of Redis: each is a target with servers, or an invalid_argument that does not repeat it.
#include <fencelock/errors.hpp>

#include "redis_url.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    using namespace fencelock;
    std::string_view const url{reinterpret_cast<char const*>(data), size};
    try {
        auto const target = detail::parse_redis_url(url);
        REQUIRE(!target.servers.empty());
        for (auto const& server : target.servers) {
            REQUIRE(server.database >= 0);
            REQUIRE(server.socket_path.empty() != server.host.empty());
            REQUIRE(server.is_same_server(server));
            REQUIRE(server.display().find(fuzz::secret) == std::string::npos ||
                    (server.host + server.socket_path).find(fuzz::secret) != std::string::npos);
        }
        REQUIRE((target.what == detail::redis_target::kind::sentinels) ==
                !target.primary_name.empty());
    } catch (invalid_argument const& e) {
        REQUIRE(std::string_view{e.what()}.find(fuzz::secret) == std::string_view::npos);
    }
    return 0;
}
