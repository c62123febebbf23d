// What a fuzzer holds true beside "it does not crash".
#pragma once

#include <cstdio>
#include <cstdlib>

namespace fuzz {

/// The password in the corpora, which no message may contain.
inline constexpr char const* secret = "hunter2";

} // namespace fuzz

// Not assert(): NDEBUG must not switch it off.
#define REQUIRE_TEXT(text) #text
#define REQUIRE_LINE(line) REQUIRE_TEXT(line)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)std::fputs(__FILE__ ":" REQUIRE_LINE(__LINE__) ": not true: " #condition "\n",   \
                             stderr);                                                              \
            std::abort();                                                                          \
        }                                                                                          \
    } while (false)
