#pragma once

#include <chrono>

namespace etprof {

// Seconds on the clock that nobody sets; only differences mean something.
inline double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace etprof
