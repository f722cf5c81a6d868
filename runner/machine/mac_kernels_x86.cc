// The multiply-add kernels of x86-64. On other architectures this file is empty.

#if defined(__x86_64__)

#include "machine/mac_kernels.h"

namespace etprof::runner {
namespace {

// All kernels use register 14 for a, 15 for b, twelve accumulators, and 12 and 13 for intermediate values.
// The largest known latency times throughput is 4 cycles x 2 per cycle for fused multiply-adds, 5 x 2 for
// vpdpbusd, and 10 x 1 for vdpbf16ps. `\d` in `zero` and `body` is the accumulator.
// clang-format off
#define ETPROF_ACCUMULATORS "0,1,2,3,4,5,6,7,8,9,10,11"
#define ETPROF_KERNEL(name, reg, bytes, move, prepare, zero, body, end)                         \
  void name(std::int64_t iterations, const void* operands, void* accumulators) {                \
    asm volatile(move " (%[in]), %%" reg "14\n"                                                 \
                 move " 256(%[in]), %%" reg "15\n"                                              \
                 prepare "\n"                                                                   \
                 ".irp d," ETPROF_ACCUMULATORS "\n" zero "\n.endr\n"                            \
                 "1:\n"                                                                         \
                 ".irp d," ETPROF_ACCUMULATORS "\n" body "\n.endr\n"                            \
                 "dec %[n]\n"                                                                   \
                 "jnz 1b\n"                                                                     \
                 ".irp d," ETPROF_ACCUMULATORS "\n"                                             \
                 move " %%" reg "\\d, \\d*" #bytes "(%[out])\n"                                 \
                 ".endr\n" end                                                                  \
                 : [n] "+r"(iterations)                                                         \
                 : [in] "r"(operands), [out] "r"(accumulators)                                  \
                 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",      \
                   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
  }
#define ETPROF_SSE(name, prepare, body) \
  ETPROF_KERNEL(name, "xmm", 16, "movups", prepare, "xorps %%xmm\\d, %%xmm\\d", body, "")
#define ETPROF_AVX(name, prepare, body) \
  ETPROF_KERNEL(name, "ymm", 32, "vmovups", prepare, "vxorps %%xmm\\d, %%xmm\\d, %%xmm\\d", body, "vzeroupper\n")
#define ETPROF_AVX512(name, prepare, body) \
  ETPROF_KERNEL(name, "zmm", 64, "vmovups", prepare, "vxorps %%xmm\\d, %%xmm\\d, %%xmm\\d", body, "vzeroupper\n")

ETPROF_SSE(Sse2F32, "",
  "movaps %%xmm14, %%xmm12\n mulps %%xmm15, %%xmm12\n addps %%xmm12, %%xmm\\d")
ETPROF_AVX(AvxF32, "",
  "vmulps %%ymm14, %%ymm15, %%ymm12\n vaddps %%ymm12, %%ymm\\d, %%ymm\\d")
ETPROF_AVX(FmaF32, "", "vfmadd231ps %%ymm14, %%ymm15, %%ymm\\d")
ETPROF_AVX512(Avx512F32, "", "vfmadd231ps %%zmm14, %%zmm15, %%zmm\\d")

// 16-bit products, added in pairs to 32 bits, as int8 kernels do after widening.
ETPROF_SSE(Sse2S16, "",
  "movdqa %%xmm14, %%xmm12\n pmaddwd %%xmm15, %%xmm12\n paddd %%xmm12, %%xmm\\d")
// 8-bit products, added in pairs to 16 bits, and then to 32 bits by a multiplication with the ones in
// register 13.
ETPROF_SSE(Ssse3S8, "pcmpeqw %%xmm13, %%xmm13\n psrlw $15, %%xmm13",
  "movdqa %%xmm14, %%xmm12\n pmaddubsw %%xmm15, %%xmm12\n pmaddwd %%xmm13, %%xmm12\n paddd %%xmm12, %%xmm\\d")
ETPROF_AVX(Avx2S8, "vpcmpeqw %%ymm13, %%ymm13, %%ymm13\n vpsrlw $15, %%ymm13, %%ymm13",
  "vpmaddubsw %%ymm15, %%ymm14, %%ymm12\n vpmaddwd %%ymm13, %%ymm12, %%ymm12\n vpaddd %%ymm12, %%ymm\\d, %%ymm\\d")
ETPROF_AVX512(Avx512bwS8, "vpternlogd $255, %%zmm13, %%zmm13, %%zmm13\n vpsrlw $15, %%zmm13, %%zmm13",
  "vpmaddubsw %%zmm15, %%zmm14, %%zmm12\n vpmaddwd %%zmm13, %%zmm12, %%zmm12\n vpaddd %%zmm12, %%zmm\\d, %%zmm\\d")
ETPROF_AVX(AvxVnniS8, "", "%{vex%} vpdpbusd %%ymm15, %%ymm14, %%ymm\\d")
ETPROF_AVX512(Avx512VnniS8, "", "vpdpbusd %%zmm15, %%zmm14, %%zmm\\d")
ETPROF_AVX512(Avx512Bf16, "", "vdpbf16ps %%zmm15, %%zmm14, %%zmm\\d")
ETPROF_AVX512(Avx512F16, "", "vfmadd231ph %%zmm14, %%zmm15, %%zmm\\d")
// clang-format on

}  // namespace

std::vector<MacKernel> AllMacKernels(const isa::FeatureSet& /*enabled*/) {
  using Operand = MacKernel::Operand;
  using Accumulator = MacKernel::Accumulator;
  constexpr std::int64_t kInstructions = 12;
  const auto kernel = [](auto... arguments) { return MakeVectorKernel(kInstructions, arguments...); };
  return {
      kernel("sse2", "fp32", "mulps, addps", Operand::kF32, Accumulator::kF32, 16, 1, &Sse2F32),
      kernel("avx", "fp32", "vmulps, vaddps ymm", Operand::kF32, Accumulator::kF32, 32, 1, &AvxF32),
      kernel("fma3", "fp32", "vfmadd231ps ymm", Operand::kF32, Accumulator::kF32, 32, 1, &FmaF32),
      kernel("avx512f", "fp32", "vfmadd231ps zmm", Operand::kF32, Accumulator::kF32, 64, 1, &Avx512F32),
      kernel("avx512fp16", "fp16", "vfmadd231ph zmm", Operand::kF16, Accumulator::kF16, 64, 1, &Avx512F16),
      kernel("avx512bf16", "bf16", "vdpbf16ps zmm", Operand::kBf16, Accumulator::kF32, 64, 2, &Avx512Bf16),
      kernel("sse2", "int8", "pmaddwd, paddd", Operand::kS16, Accumulator::kS32, 16, 2, &Sse2S16),
      kernel("ssse3", "int8", "pmaddubsw, pmaddwd, paddd", Operand::kS8, Accumulator::kS32, 16, 4, &Ssse3S8),
      kernel("avx2", "int8", "vpmaddubsw, vpmaddwd, vpaddd ymm", Operand::kS8, Accumulator::kS32, 32, 4,
             &Avx2S8),
      kernel("avxvnni", "int8", "vpdpbusd ymm", Operand::kS8, Accumulator::kS32, 32, 4, &AvxVnniS8),
      kernel("avx512bw", "int8", "vpmaddubsw, vpmaddwd, vpaddd zmm", Operand::kS8, Accumulator::kS32, 64, 4,
             &Avx512bwS8),
      kernel("avx512vnni", "int8", "vpdpbusd zmm", Operand::kS8, Accumulator::kS32, 64, 4, &Avx512VnniS8),
  };
}

std::uint64_t RunChain(std::int64_t iterations, std::uint64_t seed) {
  const std::uint64_t other = seed ^ 0x5555555555555555U;
  // The chain uses xor, since some cores fold a chain of additions of a constant.
  asm volatile(
      "1:\n"
      ".rept 64\n"
      "xor %[other], %[value]\n"
      ".endr\n"
      "dec %[n]\n"
      "jnz 1b\n"
      : [n] "+r"(iterations), [value] "+r"(seed)
      : [other] "r"(other)
      : "cc");
  return seed;
}

}  // namespace etprof::runner

#endif
