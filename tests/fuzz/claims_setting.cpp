// The setting fencelock.claims: refused, or every name in it is found with a token, and no other.
#include <cstring>
#include <string>

#include "backend.hpp"
#include "require.hpp"
#include "settings.hpp"

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    fuzz::memory_of_one_input const memory;
    static bool const defined = (fencelock::define_settings(), true);
    (void)defined;
    auto const* const begin = reinterpret_cast<char const*>(data);
    std::string const text{begin, ::strnlen(begin, size)}; // a setting ends with a zero byte
    bool const accepted = fuzz::set_claims(text);
    REQUIRE(fencelock::token_in_claims_setting("") == fencelock::no_token);
    // Without escapes, names stand in the text as they are.
    if (!accepted || text.find('\\') != std::string::npos)
        return 0;
    for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
        auto const end = text.find('"', at + 1);
        if (end == std::string::npos)
            break;
        auto const name = text.substr(at + 1, end - at - 1);
        auto const after = text.find_first_not_of(" \t\r\n", end + 1);
        if (after != std::string::npos && text[after] == ':')
            REQUIRE(fencelock::token_in_claims_setting(name) >= 1);
        at = end;
    }
    return 0;
}
