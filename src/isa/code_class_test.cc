#include "isa/code_class.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace etprof::isa {
namespace {

std::vector<std::byte> MakeBytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string_view X86(std::initializer_list<int> code) {
  return ClassifyCode(MakeBytes(code), Architecture::kX86_64);
}

std::string_view Arm(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(word >> shift & 0xff));
  }
  return ClassifyCode(bytes, Architecture::kAarch64);
}

// The machine code comes from gcc's and clang's assemblers.
TEST(CodeClassTest, NamesEachLevelOfX86) {
  EXPECT_EQ(X86({0x48, 0x01, 0xf8, 0xc3}), "scalar");                    // add rax, rdi
  EXPECT_EQ(X86({0xf3, 0x0f, 0x58, 0xc1, 0xc3}), "scalar");              // addss xmm0, xmm1
  EXPECT_EQ(X86({0x0f, 0x57, 0xc0, 0x0f, 0x28, 0xc8, 0xc3}), "scalar");  // xorps x0, x0; movaps x1, x0
  EXPECT_EQ(X86({0x0f, 0x58, 0xc1, 0xc3}), "SSE2");                      // addps xmm0, xmm1
  EXPECT_EQ(X86({0x66, 0x0f, 0x38, 0x00, 0xc1}), "SSSE3");               // pshufb xmm0, xmm1
  EXPECT_EQ(X86({0x66, 0x0f, 0x38, 0x40, 0xc1}), "SSE4.1");              // pmulld xmm0, xmm1
  EXPECT_EQ(X86({0xc5, 0xfc, 0x58, 0xc1}), "AVX");                       // vaddps ymm0, ymm0, ymm1
  EXPECT_EQ(X86({0xc4, 0xe2, 0x7d, 0x13, 0xc0}), "F16C");                // vcvtph2ps ymm0, xmm0
  EXPECT_EQ(X86({0xc4, 0xe2, 0x75, 0xb8, 0xc2}), "FMA3");                // vfmadd231ps ymm0, ymm1, ymm2
  EXPECT_EQ(X86({0xc5, 0xf5, 0xfe, 0xc2}), "AVX2");                      // vpaddd ymm0, ymm1, ymm2
  EXPECT_EQ(X86({0xc5, 0xf1, 0xfe, 0xc2}), "AVX");                       // vpaddd xmm0, xmm1, xmm2
  EXPECT_EQ(X86({0xc4, 0xe2, 0x75, 0x50, 0xc2}), "AVX-VNNI");            // {vex} vpdpbusd ymm0, ymm1, ymm2
  EXPECT_EQ(X86({0x62, 0xf1, 0x74, 0x48, 0x58, 0xc2}), "AVX-512");       // vaddps zmm0, zmm1, zmm2
  EXPECT_EQ(X86({0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2}), "AVX-512 VNNI");  // vpdpbusd zmm0, zmm1, zmm2
  EXPECT_EQ(X86({0x62, 0xf2, 0x76, 0x48, 0x52, 0xc2}), "AVX-512 BF16");  // vdpbf16ps zmm0, zmm1, zmm2
  EXPECT_EQ(X86({0x62, 0xf5, 0x74, 0x48, 0x58, 0xc2}), "AVX-512 FP16");  // vaddph zmm0, zmm1, zmm2
  EXPECT_EQ(X86({0xc4, 0xe2, 0x6b, 0x5e, 0xc1}), "AMX");                 // tdpbssd tmm0, tmm1, tmm2
}

TEST(CodeClassTest, NamesEachLevelOfArm) {
  EXPECT_EQ(Arm({0x8b000020, 0xd65f03c0}), "scalar");  // add x0, x1, x0; ret
  EXPECT_EQ(Arm({0x1e212800}), "scalar");              // fadd s0, s0, s1
  EXPECT_EQ(Arm({0x6d0123e8, 0x2f00e400}), "scalar");  // stp d8, d8, [sp, #16]; movi d0, #0
  EXPECT_EQ(Arm({0x4e21d400}), "NEON");                // fadd v0.4s, v0.4s, v1.4s
  EXPECT_EQ(Arm({0x4e411400}), "NEON FP16");           // fadd v0.8h, v0.8h, v1.8h
  EXPECT_EQ(Arm({0x4e829420}), "NEON dot product");    // sdot v0.4s, v1.16b, v2.16b
  EXPECT_EQ(Arm({0x4f82e020}), "NEON dot product");    // sdot v0.4s, v1.16b, v2.4b[0]
  EXPECT_EQ(Arm({0x4e82a420}), "NEON i8mm");           // smmla v0.4s, v1.16b, v2.16b
  EXPECT_EQ(Arm({0x6e42ec20}), "NEON BF16");           // bfmmla v0.4s, v1.8h, v2.8h
  EXPECT_EQ(Arm({0x65820020}), "SVE");                 // fadd z0.s, z1.s, z2.s
  EXPECT_EQ(Arm({0x04a26020}), "SVE2");                // mul z0.s, z1.s, z2.s
  EXPECT_EQ(Arm({0x80820020}), "SME");                 // fmopa za0.s, p0/m, p0/m, z1.s, z2.s
  EXPECT_EQ(Arm({0xe11f8000}), "SME2");                // ldr zt0, [x0]
}

TEST(CodeClassTest, OneInstructionOfALevelIsEnough) {
  EXPECT_EQ(X86({0xc5, 0xfc, 0x58, 0xc1, 0xc5, 0xfc, 0x58, 0xc1, 0xc4, 0xe2, 0x75, 0xb8, 0xc2, 0xc3}),
            "FMA3");
  EXPECT_EQ(Arm({0x4e829420, 0x4e21d400, 0xd65f03c0}), "NEON dot product");
}

TEST(CodeClassTest, HalfPrecisionScalarsAreNotNeon) {
  EXPECT_EQ(Arm({0x1ee12800}), "scalar");
}  // fadd h0, h0, h1

TEST(CodeClassTest, StreamingCodeIsSme) {
  EXPECT_EQ(Arm({0xd503477f, 0x65820020, 0x80820020, 0xd503467f, 0xd65f03c0}), "SME");
}

TEST(CodeClassTest, ContinuesAfterInvalidInstructions) {
  // 06 is invalid in 64-bit mode.
  EXPECT_EQ(X86({0x06, 0x06, 0xc5, 0xfc, 0x58, 0xc1, 0xc3}), "AVX");
  EXPECT_EQ(Arm({0x02000000, 0x4e21d400}), "NEON");
}

TEST(CodeClassTest, TruncatedCodeHasNoLevel) {
  EXPECT_EQ(X86({0xc3, 0x62, 0xf1, 0x74, 0x48, 0x58}), "scalar");
  EXPECT_EQ(ClassifyCode(MakeBytes({0x20, 0xd4, 0x21}), Architecture::kAarch64), "scalar");
  EXPECT_EQ(ClassifyCode({}, Architecture::kX86_64), "scalar");
  EXPECT_EQ(ClassifyCode({}, Architecture::kAarch64), "scalar");
}

TEST(CodeClassTest, ClassifiesRandomBytes) {
  std::mt19937 random(20261125);
  for (const Architecture architecture : {Architecture::kX86_64, Architecture::kAarch64}) {
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::byte> bytes(random() % 200);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
      // Half of the codes begin with a vector prefix, which is rare in random bytes.
      if (!bytes.empty() && i % 2 == 0) bytes[0] = static_cast<std::byte>(i % 4 == 0 ? 0x62 : 0xc4);
      const std::string_view name = ClassifyCode(bytes, architecture);
      const bool is_arm = name.starts_with("NEON") || name.starts_with("SVE") || name.starts_with("SME");
      EXPECT_TRUE(name == "scalar" || is_arm == (architecture == Architecture::kAarch64)) << name;
    }
  }
}

TEST(CodeClassTest, HigherRanksNeedMoreFeatures) {
  EXPECT_EQ(CodeRank("scalar"), 0);
  EXPECT_EQ(CodeRank("AVX10"), -1);
  EXPECT_LT(CodeRank("AVX2"), CodeRank("AVX-512"));
  EXPECT_LT(CodeRank("NEON BF16"), CodeRank("SVE"));
  EXPECT_LT(CodeRank("SME"), CodeRank("SME2"));
}

}  // namespace
}  // namespace etprof::isa
