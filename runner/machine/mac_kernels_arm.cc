// The multiply-add kernels of aarch64. On other architectures this file is empty.

#if defined(__aarch64__)

#include "machine/mac_kernels.h"

namespace etprof::runner {
namespace {

// Instructions beyond the baseline are written as machine code (Arm Architecture Reference Manual, C7 and
// C8), since few assemblers know all of them, and machine code needs no option for the CPU. `\d` is the
// accumulator, whose number is in the lowest bits of each code; a is in register 30 and b in 31 (for SME2: 0
// to 3, and 8).
// clang-format off
#define ETPROF_VECTORS "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",  \
  "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
  "v28", "v29", "v30", "v31"
#if defined(__ARM_FEATURE_SVE)
#define ETPROF_PREDICATE , "p0"
#else
#define ETPROF_PREDICATE  // the compiler does not know predicates, and so does not use them
#endif
#define ETPROF_SMSTART ".inst 0xd503477f\n"
#define ETPROF_SMSTOP ".inst 0xd503467f\n"
#define ETPROF_PTRUE_P0_B ".inst 0x2518e3e0\n"
#define ETPROF_ZERO_ZA ".inst 0xc00800ff\n"
#define ETPROF_RDVL_X10 ".inst 0x04bf502a\n"   // rdvl x10, #1
#define ETPROF_RDSVL_X10 ".inst 0x04bf582a\n"  // rdsvl x10, #1
// Twenty-four accumulators: the known maximum is 4 cycles of latency x 4 per cycle.
#define ETPROF_ACCUMULATORS "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23"

constexpr std::int64_t kVectorInstructions = 24, kSmeInstructions = 24;

template <std::uint64_t kCode>
void Neon(std::int64_t iterations, const void* operands, void* accumulators) {
  asm volatile(
      "ldr q30, [%[in]]\n"
      "ldr q31, [%[in], #256]\n"
      ".irp d," ETPROF_ACCUMULATORS "\n movi v\\d\\().16b, #0\n .endr\n"
      "1:\n"
      ".irp d," ETPROF_ACCUMULATORS "\n .inst %c[code] + \\d\n .endr\n"
      "subs %[n], %[n], #1\n"
      "b.ne 1b\n"
      ".irp d," ETPROF_ACCUMULATORS "\n str q\\d, [%[out], #16 * \\d]\n .endr\n"
      : [n] "+r"(iterations)
      : [in] "r"(operands), [out] "r"(accumulators), [code] "i"(kCode)
      : "memory", "cc", ETPROF_VECTORS);
}

// ldr z30, [x9]; ldr z31, [x9 + 256]: a vector has at most 256 bytes.
#define ETPROF_LOAD_Z30_Z31 "mov x9, %[in]\n .inst 0x8580413e\n add x9, x9, #256\n .inst 0x8580413f\n"

template <std::uint64_t kCode>
void Sve(std::int64_t iterations, const void* operands, void* accumulators) {
  asm volatile(
      ETPROF_PTRUE_P0_B ETPROF_RDVL_X10 ETPROF_LOAD_Z30_Z31
      ".irp d," ETPROF_ACCUMULATORS "\n .inst 0x2538c000 + \\d\n .endr\n"  // dup zd.b, #0
      "1:\n"
      ".irp d," ETPROF_ACCUMULATORS "\n .inst %c[code] + \\d\n .endr\n"
      "subs %[n], %[n], #1\n"
      "b.ne 1b\n"
      "mov x11, %[out]\n"
      ".irp d," ETPROF_ACCUMULATORS "\n .inst 0xe5804160 + \\d\n add x11, x11, x10\n .endr\n"  // str zd, [x11]
      : [n] "+r"(iterations)
      : [in] "r"(operands), [out] "r"(accumulators), [code] "i"(kCode)
      : "memory", "cc", "x9", "x10", "x11", ETPROF_VECTORS ETPROF_PREDICATE);
}

// Writes all of ZA to x11: str za[w12, 0], [x11] for each row; there are as many rows as a vector has bytes.
#define ETPROF_STORE_ZA               \
  ETPROF_RDSVL_X10                    \
  "mov x11, %[out]\n"                 \
  "mov x12, #0\n"                     \
  "2:\n"                              \
  ".inst 0xe1200160\n"                \
  "add x11, x11, x10\n"               \
  "add x12, x12, #1\n"                \
  "cmp x12, x10\n"                    \
  "b.ne 2b\n"

// Outer products into the four tiles of 32-bit elements, which are all of ZA, in streaming mode. Nothing
// needs to be saved: there is no call between smstart and smstop, and no other function here uses ZA.
template <std::uint64_t kCode>
void SmeOuter(std::int64_t iterations, const void* operands, void* accumulators) {
  asm volatile(
      ETPROF_SMSTART ETPROF_PTRUE_P0_B ETPROF_LOAD_Z30_Z31 ETPROF_ZERO_ZA
      "1:\n"
      ".rept 6\n .irp d,0,1,2,3\n .inst %c[code] + \\d\n .endr\n .endr\n"
      "subs %[n], %[n], #1\n"
      "b.ne 1b\n"
      ETPROF_STORE_ZA ETPROF_SMSTOP
      : [n] "+r"(iterations)
      : [in] "r"(operands), [out] "r"(accumulators), [code] "i"(kCode)
      : "memory", "cc", "x9", "x10", "x11", "x12", ETPROF_VECTORS ETPROF_PREDICATE);
}

// SME2's multiply-adds of four vectors with one vector into four vectors of ZA: the group that begins at w8 +
// d.
template <std::uint64_t kCode>
void Sme2Group(std::int64_t iterations, const void* operands, void* accumulators) {
  asm volatile(
      ETPROF_SMSTART ETPROF_PTRUE_P0_B ETPROF_ZERO_ZA
      "mov x9, %[in]\n"
      ".irp d,0,1,2,3\n .inst 0x85804120 + \\d\n .endr\n"  // ldr zd, [x9]
      "add x9, x9, #256\n"
      ".inst 0x85804128\n"  // ldr z8, [x9]
      "mov w8, #0\n"
      "1:\n"
      ".rept 3\n .irp d,0,1,2,3,4,5,6,7\n .inst %c[code] + \\d\n .endr\n .endr\n"
      "subs %[n], %[n], #1\n"
      "b.ne 1b\n"
      ETPROF_STORE_ZA ETPROF_SMSTOP
      : [n] "+r"(iterations)
      : [in] "r"(operands), [out] "r"(accumulators), [code] "i"(kCode)
      : "memory", "cc", "x8", "x9", "x10", "x11", "x12", ETPROF_VECTORS ETPROF_PREDICATE);
}

std::int64_t SveBytes() {
  std::int64_t bytes = 0;
  asm(ETPROF_RDVL_X10 "mov %[bytes], x10\n" : [bytes] "=r"(bytes) : : "x10");
  return bytes;
}

std::int64_t StreamingBytes() {
  std::int64_t bytes = 0;
  asm(ETPROF_RDSVL_X10 "mov %[bytes], x10\n" : [bytes] "=r"(bytes) : : "x10");
  return bytes;
}
// clang-format on

constexpr std::uint64_t kFmla4S = 0x4e3fcfc0;     // fmla vd.4s, v30.4s, v31.4s
constexpr std::uint64_t kFmla8H = 0x4e5f0fc0;     // fmla vd.8h, v30.8h, v31.8h
constexpr std::uint64_t kSmlal4S = 0x0e7f83c0;    // smlal vd.4s, v30.4h, v31.4h
constexpr std::uint64_t kSdot4S = 0x4e9f97c0;     // sdot vd.4s, v30.16b, v31.16b
constexpr std::uint64_t kSmmla4S = 0x4e9fa7c0;    // smmla vd.4s, v30.16b, v31.16b
constexpr std::uint64_t kBfdot4S = 0x6e5fffc0;    // bfdot vd.4s, v30.8h, v31.8h
constexpr std::uint64_t kBfmmla = 0x6e5fefc0;     // bfmmla vd.4s, v30.8h, v31.8h
constexpr std::uint64_t kSveFmlaS = 0x65bf03c0;   // fmla zd.s, p0/m, z30.s, z31.s
constexpr std::uint64_t kSveFmlaH = 0x657f03c0;   // fmla zd.h, p0/m, z30.h, z31.h
constexpr std::uint64_t kSveSdot = 0x449f03c0;    // sdot zd.s, z30.b, z31.b
constexpr std::uint64_t kFmopaS = 0x809f03c0;     // fmopa zad.s, p0/m, p0/m, z30.s, z31.s
constexpr std::uint64_t kFmopaH = 0x81bf03c0;     // fmopa zad.s, p0/m, p0/m, z30.h, z31.h
constexpr std::uint64_t kBfmopa = 0x819f03c0;     // bfmopa zad.s, p0/m, p0/m, z30.h, z31.h
constexpr std::uint64_t kSmopa = 0xa09f03c0;      // smopa zad.s, p0/m, p0/m, z30.b, z31.b
constexpr std::uint64_t kFmlaGroup = 0xc1381800;  // fmla za.s[w8, d, vgx4], {z0.s-z3.s}, z8.s
constexpr std::uint64_t kFdotGroup = 0xc1381000;  // fdot za.s[w8, d, vgx4], {z0.h-z3.h}, z8.h
constexpr std::uint64_t kSdotGroup = 0xc1381400;  // sdot za.s[w8, d, vgx4], {z0.b-z3.b}, z8.b

}  // namespace

std::vector<MacKernel> AllMacKernels(const isa::FeatureSet& enabled) {
  using Operand = MacKernel::Operand;
  using Accumulator = MacKernel::Accumulator;
  const auto has = [&](const char* feature) { return enabled.contains(feature); };
  // The vector length may only be read if the CPU has such vectors.
  const std::int64_t sve_bytes = has("sve") ? SveBytes() : 0;
  const std::int64_t streaming_bytes = has("sme") ? StreamingBytes() : 0;

  const auto vector = [](auto... arguments) { return MakeVectorKernel(kVectorInstructions, arguments...); };
  // An outer product of SME updates lanes^2 accumulators of 32 bits. A multi-vector instruction of SME2
  // updates four vectors of `lanes` accumulators each.
  const std::int64_t lanes = streaming_bytes / 4;
  const auto sme = [&](std::string_view level, std::string_view dtype, std::string_view instruction,
                       Operand operand, Accumulator accumulator, std::int64_t macs, MacKernel::Run run) {
    return MacKernel{level,
                     dtype,
                     instruction,
                     operand,
                     accumulator,
                     kSmeInstructions,
                     kSmeInstructions * macs,
                     streaming_bytes * streaming_bytes,
                     run};
  };
  const Accumulator f32 = Accumulator::kF32, s32 = Accumulator::kS32;
  return {
      vector("neon", "fp32", "fmla 4s", Operand::kF32, f32, 16, 1, &Neon<kFmla4S>),
      vector("fp16", "fp16", "fmla 8h", Operand::kF16, Accumulator::kF16, 16, 1, &Neon<kFmla8H>),
      vector("bf16", "bf16", "bfdot", Operand::kBf16, f32, 16, 2, &Neon<kBfdot4S>),
      vector("bf16", "bf16", "bfmmla", Operand::kBf16, f32, 16, 4, &Neon<kBfmmla>),
      vector("neon", "int8", "smlal 4s", Operand::kS16, s32, 16, 1, &Neon<kSmlal4S>),
      vector("dotprod", "int8", "sdot", Operand::kS8, s32, 16, 4, &Neon<kSdot4S>),
      vector("i8mm", "int8", "smmla", Operand::kS8, s32, 16, 8, &Neon<kSmmla4S>),
      vector("sve", "fp32", "fmla z.s", Operand::kF32, f32, sve_bytes, 1, &Sve<kSveFmlaS>),
      vector("sve", "fp16", "fmla z.h", Operand::kF16, Accumulator::kF16, sve_bytes, 1, &Sve<kSveFmlaH>),
      vector("sve", "int8", "sdot z.s", Operand::kS8, s32, sve_bytes, 4, &Sve<kSveSdot>),
      sme("sme", "fp32", "fmopa za.s", Operand::kF32, f32, lanes * lanes, &SmeOuter<kFmopaS>),
      sme("sme", "fp16", "fmopa za.s, z.h", Operand::kF16, f32, 2 * lanes * lanes, &SmeOuter<kFmopaH>),
      sme("sme", "bf16", "bfmopa za.s", Operand::kBf16, f32, 2 * lanes * lanes, &SmeOuter<kBfmopa>),
      sme("sme", "int8", "smopa za.s", Operand::kS8, s32, 4 * lanes * lanes, &SmeOuter<kSmopa>),
      sme("sme2", "fp32", "fmla za.s, vgx4", Operand::kF32, f32, 4 * lanes, &Sme2Group<kFmlaGroup>),
      sme("sme2", "fp16", "fdot za.s, vgx4", Operand::kF16, f32, 8 * lanes, &Sme2Group<kFdotGroup>),
      sme("sme2", "int8", "sdot za.s, vgx4", Operand::kS8, s32, 16 * lanes, &Sme2Group<kSdotGroup>),
  };
}

std::uint64_t RunChain(std::int64_t iterations, std::uint64_t seed) {
  const std::uint64_t other = seed ^ 0x5555555555555555U;
  asm volatile(
      "1:\n"
      ".rept 64\n"
      "eor %[value], %[value], %[other]\n"
      ".endr\n"
      "subs %[n], %[n], #1\n"
      "b.ne 1b\n"
      : [n] "+r"(iterations), [value] "+r"(seed)
      : [other] "r"(other)
      : "cc");
  return seed;
}

}  // namespace etprof::runner

#endif
