#pragma once

namespace etprof {

// Whether this is compiled with AddressSanitizer. Such a build runs up to fifty times as long and looks for
// what code does with memory: tests that repeat one thing with many seeds take fewer of them there.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace etprof
