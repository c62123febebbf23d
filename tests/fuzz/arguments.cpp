// The command line: words, one a line of the input, are arguments or a usage_error.
#include <vector>

#include "arguments.hpp"
#include "require.hpp"

namespace {

std::vector<std::string> words_of(std::string_view text)
{
    std::vector<std::string> words;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    using namespace fencelock::cli;
    try {
        auto const given = parse_arguments(words_of({reinterpret_cast<char const*>(data), size}));
        if (given.help || given.version)
            return 0;
        REQUIRE(given.command);
        REQUIRE(given.ttl.count() >= 0); // how long it may be is the library's to say
        REQUIRE(given.wait.count() >= 0);
        REQUIRE(!given.redis.empty() || given.db);
        auto const what = *given.command;
        if (what == command::renew || what == command::release)
            REQUIRE(given.token > 0 && !given.owner.empty());
        if (what == command::run)
            REQUIRE(!given.program.empty());
        if (what != command::doctor && what != command::show)
            REQUIRE(given.resource);
    } catch (usage_error const& e) {
        REQUIRE(!std::string_view{e.what()}.empty());
    }
    return 0;
}
