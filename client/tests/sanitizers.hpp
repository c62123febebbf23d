// What this is compiled with; clang and gcc tell it in different ways.
#pragma once

namespace fencelock::test {

#if defined(__has_feature)
#define FENCELOCK_COMPILED_WITH(feature) __has_feature(feature)
#else
#define FENCELOCK_COMPILED_WITH(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || FENCELOCK_COMPILED_WITH(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || FENCELOCK_COMPILED_WITH(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

} // namespace fencelock::test
