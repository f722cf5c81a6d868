#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/features.h"

namespace etprof::runner {

// A loop of multiply-adds on registers only. It is written in assembly, so that one binary contains all ISA
// levels, and no compiler can drop, merge, or widen anything. It has enough independent accumulators to hide
// the latency of every known core.
struct MacKernel {
  enum class Operand { kF32, kF16, kBf16, kS8, kS16 };
  enum class Accumulator { kF32, kF16, kS32 };
  std::string_view level;  // the required feature (isa/features.h), or the baseline: "sse2", "neon"
  std::string_view dtype;  // data type of the models that the peak is for: "fp32", "fp16", "bf16", "int8"
  std::string_view instruction;
  Operand operand;
  Accumulator accumulator;
  std::int64_t instructions;       // multiply instructions per iteration
  std::int64_t macs;               // multiply-adds per iteration
  std::int64_t accumulator_bytes;  // bytes that `run` writes
  // Runs `iterations` > 0 times acc += a * b, with a at operands[0] and b at operands[256], 256 bytes each;
  // then writes the accumulators, which start at 0.
  using Run = void (*)(std::int64_t iterations, const void* operands, void* accumulators);
  Run run;
};
// Makes a kernel on vectors of `bytes` bytes. An instruction has the accumulator's lanes times
// `macs_per_lane` multiply-adds.
inline MacKernel MakeVectorKernel(std::int64_t instructions, std::string_view level, std::string_view dtype,
                                  std::string_view instruction, MacKernel::Operand operand,
                                  MacKernel::Accumulator accumulator, std::int64_t bytes,
                                  std::int64_t macs_per_lane, MacKernel::Run run) {
  const std::int64_t lanes = bytes / (accumulator == MacKernel::Accumulator::kF16 ? 2 : 4);
  const std::int64_t macs = instructions * lanes * macs_per_lane;
  return {level, dtype, instruction, operand, accumulator, instructions, macs, instructions * bytes, run};
}

// The kernels to measure if only `enabled` features may be used. The CPU must have these features.
std::vector<MacKernel> MacKernels(const isa::FeatureSet& enabled);

// All kernels of the architecture, lowest level first; defined in one file per architecture. `enabled`
// determines how wide vectors may be.
std::vector<MacKernel> AllMacKernels(const isa::FeatureSet& enabled);

// The operands of a kernel: every element of a is 2, and of b 3. Aligned for every load.
struct alignas(256) MacOperands {
  unsigned char bytes[512];
};
MacOperands MakeOperands(const MacKernel& kernel);

// Runs the kernel and adds up all its accumulators; the result of a correct kernel is 6 * macs * iterations.
// Exact up to 300 iterations.
double RunAndSum(const MacKernel& kernel, std::int64_t iterations);

// Runs a chain of `iterations` * kChainLength dependent instructions that take one cycle each. Returns `seed`
// unchanged.
inline constexpr std::int64_t kChainLength = 64;
std::uint64_t RunChain(std::int64_t iterations, std::uint64_t seed);

}  // namespace etprof::runner
