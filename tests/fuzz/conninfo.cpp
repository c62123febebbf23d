// Connection strings of PostgreSQL: completed, libpq takes them, and completing them again changes
// nothing but their order; else an invalid_argument that does not repeat them.
#include <fencelock/errors.hpp>

#include "conninfo.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    using namespace fencelock;
    std::string const given{reinterpret_cast<char const*>(data), size};
    std::string complete;
    try {
        complete = detail::with_defaults(given);
    } catch (invalid_argument const& e) {
        REQUIRE(std::string_view{e.what()}.find(fuzz::secret) == std::string_view::npos);
        return 0;
    }
    REQUIRE(complete.find("client_encoding='UTF8'") != std::string::npos);
    auto const again = detail::with_defaults(complete); // throws where libpq does not take it
    REQUIRE(detail::with_defaults(again) == again);
    return 0;
}
