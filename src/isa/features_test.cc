#include "isa/features.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace etprof::isa {
namespace {

constexpr Architecture kArchitectures[] = {Architecture::kX86_64, Architecture::kAarch64};

TEST(Features, EveryNameAndAliasMeansOneFeature) {
  for (const Architecture architecture : kArchitectures) {
    std::set<std::string_view> names;
    for (const Feature& feature : Features(architecture)) {
      EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
      for (const std::string_view alias : feature.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    }
    for (const FeatureGroup& group : FeatureGroups(architecture))
      EXPECT_TRUE(names.insert(group.name).second) << group.name;
  }
}

TEST(Features, DependenciesComeFirst) {  // WithDependents relies on this order
  for (const Architecture architecture : kArchitectures) {
    std::set<std::string_view> before;
    for (const Feature& feature : Features(architecture)) {
      for (const std::string_view need : feature.needs)
        EXPECT_TRUE(before.contains(need)) << feature.name << " " << need;
      before.insert(feature.name);
    }
    for (const FeatureGroup& group : FeatureGroups(architecture)) {
      for (const std::string_view member : group.members) EXPECT_TRUE(before.contains(member)) << member;
    }
  }
}

TEST(Features, RecognizesLinuxAndXnnpackSpellings) {
  EXPECT_EQ(CanonicalName(Architecture::kX86_64, "fma"), "fma3");
  EXPECT_EQ(CanonicalName(Architecture::kX86_64, "sse4.1"), "sse4_1");
  EXPECT_EQ(CanonicalName(Architecture::kX86_64, "AVX512_VNNI"), "avx512vnni");
  EXPECT_EQ(CanonicalName(Architecture::kAarch64, "asimddp"), "dotprod");
  EXPECT_EQ(CanonicalName(Architecture::kAarch64, "fphp"), "fp16");
  EXPECT_EQ(CanonicalName(Architecture::kAarch64, "asimdfhm"), "fhm");
  EXPECT_EQ(CanonicalName(Architecture::kX86_64, "sme2"), std::nullopt);
  EXPECT_EQ(CanonicalName(Architecture::kAarch64, ""), std::nullopt);
}

TEST(Features, ClosuresAreTransitive) {
  const FeatureSet avx_dependents = WithDependents(Architecture::kX86_64, {"avx"});
  for (const char* dependent :
       {"avx2", "fma3", "f16c", "avx512f", "avx512vnni", "avx512fp16", "avx10_2", "avxvnni"}) {
    EXPECT_TRUE(avx_dependents.contains(dependent)) << dependent;
  }
  EXPECT_FALSE(avx_dependents.contains("sse4_2"));
  EXPECT_TRUE(WithDependents(Architecture::kAarch64, {"sme"}).contains("sme2"));
  EXPECT_FALSE(
      WithDependents(Architecture::kAarch64, {"sve"}).contains("sme"));  // Apple's M4 has SME2 without SVE
  EXPECT_EQ(WithDependencies(Architecture::kX86_64, {"fma3"}),
            (FeatureSet{"avx", "f16c", "fma3", "sse3", "sse4_1", "sse4_2", "ssse3"}));
  EXPECT_EQ(WithDependencies(Architecture::kAarch64, {"sme2"}), (FeatureSet{"bf16", "fp16", "sme", "sme2"}));
}

TEST(WidestExtension, PrefersTheWidest) {
  EXPECT_EQ(WidestExtension(Architecture::kX86_64, {"avx", "avx2", "fma3"})->off_mask, "-avx");
  EXPECT_EQ(WidestExtension(Architecture::kX86_64, {"avx2", "avx512f"})->name, "avx512");
  EXPECT_EQ(WidestExtension(Architecture::kAarch64, {"sme", "sme2", "i8mm"})->off_mask, "-sme,-sme2");
  EXPECT_EQ(WidestExtension(Architecture::kAarch64, {"atomics", "dotprod"})->name, "dotprod");
  EXPECT_FALSE(WidestExtension(Architecture::kX86_64, {}).has_value());
  EXPECT_FALSE(WidestExtension(Architecture::kAarch64, {"atomics"}).has_value());
}

}  // namespace
}  // namespace etprof::isa
