#pragma once

#include <cstdint>
#include <string_view>

#include "isa/features.h"

namespace etprof::runner {

// Sizes are multiples of this, addresses of 64.
inline constexpr std::int64_t kMemoryStep = 512;

// Straight passes over memory by the widest registers that a mask leaves, in assembly for the same reasons as
// mac_kernels.h. `bytes` is a multiple of kMemoryStep above 0.
struct MemoryKernel {
  std::string_view level;  // the feature whose registers it uses, or the baseline
  // All of them `passes` > 0 times.
  // Reads and returns the exclusive or of the 64-bit words read, which no processor knows without reading.
  std::uint64_t (*read)(const void* memory, std::int64_t bytes, std::int64_t passes);
  // Fills with words of `value`.
  void (*write)(void* memory, std::int64_t bytes, std::int64_t passes, std::uint64_t value);
  // Reads `bytes` and writes `bytes`. The two do not overlap.
  void (*copy)(void* to, const void* from, std::int64_t bytes, std::int64_t passes);
};

// The CPU must have the features in `enabled`.
MemoryKernel WidestMemoryKernel(const isa::FeatureSet& enabled);

}  // namespace etprof::runner
