#include "machine/memory_kernels.h"

#include <cstddef>

namespace etprof::runner {
namespace {

// Memory for the accumulators that a pass writes, and for a value to spread over a register.
struct alignas(64) Words {
  std::uint64_t words[64];
};

[[maybe_unused]] std::uint64_t ExclusiveOr(const Words& accumulators, std::size_t count) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < count; ++i) result ^= accumulators.words[i];
  return result;
}

[[maybe_unused]] Words Spread(std::uint64_t value) {
  Words words;
  for (std::uint64_t& word : words.words) word = value;
  return words;
}

const void* End(const void* memory, std::int64_t bytes) { return static_cast<const char*>(memory) + bytes; }

#if defined(__x86_64__)

// clang-format off
#define ETPROF_EIGHT ".irp d,0,1,2,3,4,5,6,7\n"
#define ETPROF_CLOBBERS \
  "memory", "cc", "rax", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
// rax and rdx are the positions; every pass starts at `from` and `to`.
#define ETPROF_MEMORY(name, reg, width, move, clear, combine, end)                                        \
  std::uint64_t name##Read(const void* memory, std::int64_t bytes, std::int64_t passes) {                 \
    Words words;                                                                                          \
    asm volatile(ETPROF_EIGHT clear "\n.endr\n"                                                           \
                 "2:\n mov %[from], %%rax\n"                                                              \
                 "1:\n" ETPROF_EIGHT combine "\n.endr\n"                                                  \
                 "add $8*" #width ", %%rax\n"                                                             \
                 "cmp %[last], %%rax\n"                                                                   \
                 "jne 1b\n"                                                                               \
                 "dec %[n]\n"                                                                             \
                 "jnz 2b\n"                                                                               \
                 ETPROF_EIGHT move " %%" reg "\\d, \\d*" #width "(%[out])\n.endr\n" end                   \
                 : [n] "+r"(passes)                                                                       \
                 : [from] "r"(memory), [last] "r"(End(memory, bytes)), [out] "r"(&words)                  \
                 : ETPROF_CLOBBERS);                                                                      \
    return ExclusiveOr(words, width);                                                                     \
  }                                                                                                       \
  void name##Write(void* memory, std::int64_t bytes, std::int64_t passes, std::uint64_t value) {          \
    const Words words = Spread(value);                                                                    \
    asm volatile(move " (%[in]), %%" reg "0\n"                                                            \
                 "2:\n mov %[to], %%rax\n"                                                                \
                 "1:\n" ETPROF_EIGHT move " %%" reg "0, \\d*" #width "(%%rax)\n.endr\n"                   \
                 "add $8*" #width ", %%rax\n"                                                             \
                 "cmp %[last], %%rax\n"                                                                   \
                 "jne 1b\n"                                                                               \
                 "dec %[n]\n"                                                                             \
                 "jnz 2b\n" end                                                                           \
                 : [n] "+r"(passes)                                                                       \
                 : [to] "r"(memory), [last] "r"(End(memory, bytes)), [in] "r"(&words)                     \
                 : ETPROF_CLOBBERS);                                                                      \
  }                                                                                                       \
  void name##Copy(void* to, const void* from, std::int64_t bytes, std::int64_t passes) {                  \
    asm volatile("2:\n mov %[from], %%rax\n mov %[to], %%rdx\n"                                           \
                 "1:\n" ETPROF_EIGHT move " \\d*" #width "(%%rax), %%" reg "\\d\n.endr\n"                 \
                 ETPROF_EIGHT move " %%" reg "\\d, \\d*" #width "(%%rdx)\n.endr\n"                        \
                 "add $8*" #width ", %%rax\n"                                                             \
                 "add $8*" #width ", %%rdx\n"                                                             \
                 "cmp %[last], %%rax\n"                                                                   \
                 "jne 1b\n"                                                                               \
                 "dec %[n]\n"                                                                             \
                 "jnz 2b\n" end                                                                           \
                 : [n] "+r"(passes)                                                                       \
                 : [from] "r"(from), [to] "r"(to), [last] "r"(End(from, bytes))                           \
                 : ETPROF_CLOBBERS);                                                                      \
  }
ETPROF_MEMORY(Sse2, "xmm", 16, "movups", "xorps %%xmm\\d, %%xmm\\d", "xorps \\d*16(%%rax), %%xmm\\d",
              "")
ETPROF_MEMORY(Avx, "ymm", 32, "vmovups", "vxorps %%xmm\\d, %%xmm\\d, %%xmm\\d",
              "vxorps \\d*32(%%rax), %%ymm\\d, %%ymm\\d", "vzeroupper\n")
ETPROF_MEMORY(Avx512, "zmm", 64, "vmovups", "vxorps %%xmm\\d, %%xmm\\d, %%xmm\\d",
              "vpxord \\d*64(%%rax), %%zmm\\d, %%zmm\\d", "vzeroupper\n")
// clang-format on

#elif defined(__aarch64__)

// clang-format off
// x9 and x10 are the positions; every pass starts at `from` and `to`.
std::uint64_t NeonRead(const void* memory, std::int64_t bytes, std::int64_t passes) {
  Words words;
  asm volatile(
      ".irp d,0,1,2,3,4,5,6,7\n movi v\\d\\().16b, #0\n .endr\n"
      "2:\n"
      "mov x9, %[from]\n"
      "1:\n"
      "ldp q16, q17, [x9]\n"
      "ldp q18, q19, [x9, #32]\n"
      "ldp q20, q21, [x9, #64]\n"
      "ldp q22, q23, [x9, #96]\n"
      "eor v0.16b, v0.16b, v16.16b\n"
      "eor v1.16b, v1.16b, v17.16b\n"
      "eor v2.16b, v2.16b, v18.16b\n"
      "eor v3.16b, v3.16b, v19.16b\n"
      "eor v4.16b, v4.16b, v20.16b\n"
      "eor v5.16b, v5.16b, v21.16b\n"
      "eor v6.16b, v6.16b, v22.16b\n"
      "eor v7.16b, v7.16b, v23.16b\n"
      "add x9, x9, #128\n"
      "cmp x9, %[last]\n"
      "b.ne 1b\n"
      "subs %[n], %[n], #1\n"
      "b.ne 2b\n"
      ".irp d,0,1,2,3,4,5,6,7\n str q\\d, [%[out], #16 * \\d]\n .endr\n"
      : [n] "+r"(passes)
      : [from] "r"(memory), [last] "r"(End(memory, bytes)), [out] "r"(&words)
      : "memory", "cc", "x9", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
        "v21", "v22", "v23");
  return ExclusiveOr(words, 16);
}

void NeonWrite(void* memory, std::int64_t bytes, std::int64_t passes, std::uint64_t value) {
  asm volatile(
      "dup v0.2d, %[value]\n"
      "2:\n"
      "mov x9, %[to]\n"
      "1:\n"
      "stp q0, q0, [x9]\n"
      "stp q0, q0, [x9, #32]\n"
      "stp q0, q0, [x9, #64]\n"
      "stp q0, q0, [x9, #96]\n"
      "add x9, x9, #128\n"
      "cmp x9, %[last]\n"
      "b.ne 1b\n"
      "subs %[n], %[n], #1\n"
      "b.ne 2b\n"
      : [n] "+r"(passes)
      : [to] "r"(memory), [last] "r"(End(memory, bytes)), [value] "r"(value)
      : "memory", "cc", "x9", "v0");
}

void NeonCopy(void* to, const void* from, std::int64_t bytes, std::int64_t passes) {
  asm volatile(
      "2:\n"
      "mov x9, %[from]\n"
      "mov x10, %[to]\n"
      "1:\n"
      "ldp q0, q1, [x9]\n"
      "ldp q2, q3, [x9, #32]\n"
      "ldp q4, q5, [x9, #64]\n"
      "ldp q6, q7, [x9, #96]\n"
      "stp q0, q1, [x10]\n"
      "stp q2, q3, [x10, #32]\n"
      "stp q4, q5, [x10, #64]\n"
      "stp q6, q7, [x10, #96]\n"
      "add x9, x9, #128\n"
      "add x10, x10, #128\n"
      "cmp x9, %[last]\n"
      "b.ne 1b\n"
      "subs %[n], %[n], #1\n"
      "b.ne 2b\n"
      : [n] "+r"(passes)
      : [from] "r"(from), [to] "r"(to), [last] "r"(End(from, bytes))
      : "memory", "cc", "x9", "x10", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
}
// clang-format on

#endif

}  // namespace

MemoryKernel WidestMemoryKernel([[maybe_unused]] const isa::FeatureSet& enabled) {
#if defined(__x86_64__)
  if (enabled.contains("avx512f")) return {"avx512f", &Avx512Read, &Avx512Write, &Avx512Copy};
  if (enabled.contains("avx")) return {"avx", &AvxRead, &AvxWrite, &AvxCopy};
  return {"sse2", &Sse2Read, &Sse2Write, &Sse2Copy};
#else
  return {"neon", &NeonRead, &NeonWrite, &NeonCopy};
#endif
}

}  // namespace etprof::runner
