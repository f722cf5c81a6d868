#pragma once

#include <chrono>

namespace etprof {

// Seconds of a monotonic clock. Only differences between two readings are meaningful.
inline double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace etprof
