#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/features.h"

namespace etprof::runner {

// A loop of multiply-adds on registers alone, written in assembly, so that one binary holds all levels and no
// compiler can drop, merge or widen anything. Its accumulators are independent and many enough to hide the
// latency of every core known.
struct MacKernel {
  enum class Operand { kF32, kF16, kBf16, kS8, kS16 };
  enum class Accumulator { kF32, kF16, kS32 };
  std::string_view level;  // the feature that it needs (isa/features.h), or the baseline: "sse2", "neon"
  std::string_view dtype;  // of the models whose roof it is: "fp32", "fp16", "bf16", "int8"
  std::string_view instruction;
  Operand operand;
  Accumulator accumulator;
  std::int64_t instructions;       // that multiply, in one iteration
  std::int64_t macs;               // multiply-adds in one iteration
  std::int64_t accumulator_bytes;  // that `run` writes
  // `iterations` > 0 times acc += a * b, with a at operands[0] and b at operands[256], 256 bytes each; then
  // writes the accumulators, which began as 0.
  void (*run)(std::int64_t iterations, const void* operands, void* accumulators);
};

// Those that may run where just `enabled` is visible. The CPU must have these features.
std::vector<MacKernel> MacKernels(const isa::FeatureSet& enabled);

// All that the architecture has, weakest level first. Its file alone defines it. `enabled` says how wide
// vectors may be.
std::vector<MacKernel> EveryMacKernel(const isa::FeatureSet& enabled);

// The operands of a kernel, every element of a being 2 and of b 3, aligned for every load.
struct alignas(256) MacOperands {
  unsigned char bytes[512];
};
MacOperands OperandsOf(const MacKernel& kernel);

// Runs it and adds up all its accumulators: 6 * macs * iterations where it does what it says. Exact up to 300
// iterations.
double SumAfter(const MacKernel& kernel, std::int64_t iterations);

// A chain of `iterations` * kChainLength instructions, each of which waits for the one before and takes one
// cycle. Returns what is left of `seed` (itself).
inline constexpr std::int64_t kChainLength = 64;
std::uint64_t RunChain(std::int64_t iterations, std::uint64_t seed);

}  // namespace etprof::runner
