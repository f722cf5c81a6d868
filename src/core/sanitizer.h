#pragma once

namespace etprof {

// True if this is compiled with AddressSanitizer. Such a build is up to fifty times slower and searches for
// memory errors, so tests that repeat a check with many seeds use fewer seeds in it.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace etprof
