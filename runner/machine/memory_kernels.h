#pragma once

#include <cstdint>
#include <string_view>

#include "isa/features.h"

namespace etprof::runner {

// The granularity of sizes; addresses are multiples of 64.
inline constexpr std::int64_t kMemoryStep = 512;

// Sequential passes over memory with the widest registers that a mask allows, in assembly for the same
// reasons as in mac_kernels.h. `bytes` is a positive multiple of kMemoryStep.
struct MemoryKernel {
  std::string_view level;  // the feature whose registers it uses, or the baseline
  // All functions make `passes` > 0 passes.
  // Reads the memory and returns the exclusive or of the 64-bit words, so that the reads are needed.
  std::uint64_t (*read)(const void* memory, std::int64_t bytes, std::int64_t passes);
  // Fills the memory with words of `value`.
  void (*write)(void* memory, std::int64_t bytes, std::int64_t passes, std::uint64_t value);
  // Reads `bytes` and writes `bytes`; the two areas do not overlap.
  void (*copy)(void* to, const void* from, std::int64_t bytes, std::int64_t passes);
};

// The CPU must have the features in `enabled`.
MemoryKernel WidestMemoryKernel(const isa::FeatureSet& enabled);

}  // namespace etprof::runner
