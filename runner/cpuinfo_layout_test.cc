#include "cpuinfo_layout.h"

#include <gtest/gtest.h>

#include <cstdlib>

// torch ships cpuinfo's header; the runner itself must build without it.
#if __has_include(<cpuinfo.h>)
#include <cpuinfo.h>
#define ETPROF_HAVE_CPUINFO_HEADER 1
#endif

namespace etprof::runner {
namespace {

TEST(CpuinfoLayout, FieldsAreKnownFeaturesWithinTheStructure) {
  const auto check = [](const auto& fields, isa::Architecture architecture, std::size_t size) {
    std::set<std::size_t> offsets;
    std::set<std::string_view> names;
    for (const CpuinfoField& field : fields) {
      EXPECT_EQ(isa::CanonicalName(architecture, field.feature), field.feature);
      EXPECT_LT(field.offset, size) << field.feature;
      EXPECT_TRUE(offsets.insert(field.offset).second) << field.feature;
      EXPECT_TRUE(names.insert(field.feature).second) << field.feature;
    }
    EXPECT_EQ(names.size(), isa::Features(architecture).size()) << "a feature that cannot be masked";
  };
  check(kX86Fields, isa::Architecture::kX86_64, kX86IsaSize);
  check(kArmFields, isa::Architecture::kAarch64, kArmIsaSize);
}

#if defined(ETPROF_HAVE_CPUINFO_HEADER)
template <typename Fields>
std::size_t FindOffset(const Fields& fields, std::string_view feature) {
  for (const CpuinfoField& field : fields) {
    if (field.feature == feature) return field.offset;
  }
  ADD_FAILURE() << "no field for " << feature;
  return 0;
}
#endif

TEST(CpuinfoLayout, MatchesTorchsHeader) {
#if !defined(ETPROF_HAVE_CPUINFO_HEADER)
  if (std::getenv("CI") != nullptr) FAIL() << "CI builds with torch, so cpuinfo.h must be there";
  GTEST_SKIP() << "torch's include/cpuinfo.h is not installed";
#elif defined(__x86_64__)
  EXPECT_EQ(sizeof(cpuinfo_x86_isa), kX86IsaSize);
#define EXPECT_FIELD(feature, member) \
  EXPECT_EQ(FindOffset(kX86Fields, feature), offsetof(cpuinfo_x86_isa, member))
  EXPECT_FIELD("sse3", sse3);
  EXPECT_FIELD("ssse3", ssse3);
  EXPECT_FIELD("sse4_1", sse4_1);
  EXPECT_FIELD("sse4_2", sse4_2);
  EXPECT_FIELD("avx", avx);
  EXPECT_FIELD("avxvnni", avxvnni);
  EXPECT_FIELD("fma3", fma3);
  EXPECT_FIELD("f16c", f16c);
  EXPECT_FIELD("avx2", avx2);
  EXPECT_FIELD("avx512f", avx512f);
  EXPECT_FIELD("avx512cd", avx512cd);
  EXPECT_FIELD("avx512dq", avx512dq);
  EXPECT_FIELD("avx512bw", avx512bw);
  EXPECT_FIELD("avx512vl", avx512vl);
  EXPECT_FIELD("avx512ifma", avx512ifma);
  EXPECT_FIELD("avx512vbmi", avx512vbmi);
  EXPECT_FIELD("avx512vbmi2", avx512vbmi2);
  EXPECT_FIELD("avx512bitalg", avx512bitalg);
  EXPECT_FIELD("avx512vpopcntdq", avx512vpopcntdq);
  EXPECT_FIELD("avx512vnni", avx512vnni);
  EXPECT_FIELD("avx512bf16", avx512bf16);
  EXPECT_FIELD("avx512fp16", avx512fp16);
  EXPECT_FIELD("avx512vp2intersect", avx512vp2intersect);
  EXPECT_FIELD("avx10_1", avx10_1);
  EXPECT_FIELD("avx10_2", avx10_2);
  EXPECT_FIELD("amx_bf16", amx_bf16);
  EXPECT_FIELD("amx_tile", amx_tile);
  EXPECT_FIELD("amx_int8", amx_int8);
  EXPECT_FIELD("amx_fp16", amx_fp16);
  EXPECT_FIELD("avxvnniint8", avx_vnni_int8);
  EXPECT_FIELD("avxvnniint16", avx_vnni_int16);
  EXPECT_FIELD("avxneconvert", avx_ne_convert);
  EXPECT_FIELD("gfni", gfni);
#undef EXPECT_FIELD
#elif defined(__aarch64__)
  EXPECT_EQ(sizeof(cpuinfo_arm_isa), kArmIsaSize);
#define EXPECT_FIELD(feature, member) \
  EXPECT_EQ(FindOffset(kArmFields, feature), offsetof(cpuinfo_arm_isa, member))
  EXPECT_FIELD("atomics", atomics);
  EXPECT_FIELD("bf16", bf16);
  EXPECT_FIELD("sve", sve);
  EXPECT_FIELD("sve2", sve2);
  EXPECT_FIELD("i8mm", i8mm);
  EXPECT_FIELD("sme", sme);
  EXPECT_FIELD("sme2", sme2);
  EXPECT_FIELD("sme2p1", sme2p1);
  EXPECT_FIELD("sme_i16i32", sme_i16i32);
  EXPECT_FIELD("sme_bi32i32", sme_bi32i32);
  EXPECT_FIELD("sme_b16b16", sme_b16b16);
  EXPECT_FIELD("sme_f16f16", sme_f16f16);
  EXPECT_FIELD("rdm", rdm);
  EXPECT_FIELD("fp16", fp16arith);
  EXPECT_FIELD("dotprod", dot);
  EXPECT_FIELD("jscvt", jscvt);
  EXPECT_FIELD("fcma", fcma);
  EXPECT_FIELD("fhm", fhm);
#undef EXPECT_FIELD
#endif
}

}  // namespace
}  // namespace etprof::runner
