#include "isa/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace etprof::isa {
namespace {

using testing::ElementsAre;

std::vector<std::string> LevelNames(const std::vector<Level>& levels) {
  std::vector<std::string> names;
  for (const Level& level : levels) names.push_back(level.name);
  return names;
}

const FeatureSet& Zen3() {
  static const FeatureSet features = WithDependencies(Architecture::kX86_64, {"avx2"});
  return features;
}
const FeatureSet& SapphireRapids() {
  static const FeatureSet features = WithDependencies(
      Architecture::kX86_64, {"avx2", "avxvnni", "gfni", "avx512cd", "avx512bw", "avx512dq", "avx512vl",
                              "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
                              "avx512vnni", "avx512bf16", "avx512fp16", "amx_tile", "amx_int8", "amx_bf16"});
  return features;
}
const FeatureSet& AlderLake() {  // has GFNI, which XNNPACK uses only with AVX-512
  static const FeatureSet features = WithDependencies(Architecture::kX86_64, {"avx2", "avxvnni", "gfni"});
  return features;
}
const FeatureSet& M4() {  // SME2 without SVE
  static const FeatureSet features = WithDependencies(
      Architecture::kAarch64,
      {"atomics", "rdm", "jscvt", "fcma", "fhm", "dotprod", "i8mm", "sme2", "sme_i16i32", "sme_f16f16"});
  return features;
}
const FeatureSet& AllArmFeatures() {
  static const FeatureSet features = [] {
    FeatureSet all;
    for (const Feature& feature : Features(Architecture::kAarch64)) all.emplace(feature.name);
    return all;
  }();
  return features;
}

TEST(Ladder, HasTheLevelsOfXnnpackThatTheCpuHas) {
  EXPECT_THAT(LevelNames(Ladder(Architecture::kX86_64, Zen3())),
              ElementsAre("sse2", "ssse3", "sse4_1", "avx", "f16c", "fma3", "avx2"));
  EXPECT_THAT(
      LevelNames(Ladder(Architecture::kX86_64, SapphireRapids())),
      ElementsAre("sse2", "ssse3", "sse4_1", "avx", "f16c", "fma3", "avx2", "avxvnni", "avx512f", "avx512skx",
                  "avx512vbmi", "avx512vnni", "avx512vnnigfni", "avx512bf16", "avx512fp16", "avx512amx"));
  EXPECT_THAT(LevelNames(Ladder(Architecture::kX86_64, AlderLake())),
              ElementsAre("sse2", "ssse3", "sse4_1", "avx", "f16c", "fma3", "avx2", "avxvnni"));
  EXPECT_THAT(LevelNames(Ladder(Architecture::kAarch64, M4())),
              ElementsAre("neon", "dotprod", "fp16", "i8mm", "bf16", "sme", "sme2"));
  EXPECT_THAT(LevelNames(Ladder(Architecture::kAarch64, AllArmFeatures())),
              ElementsAre("neon", "dotprod", "fp16", "i8mm", "bf16", "sve", "sve2", "sme", "sme2"));
  EXPECT_THAT(LevelNames(Ladder(Architecture::kAarch64, {})), ElementsAre("neon"));
}

// The runner applies `mask`, and the report identifies levels by the features that are then visible.
TEST(Ladder, MasksLeaveTheFeaturesOfTheLevelVisible) {
  for (const auto& [architecture, detected] : {std::pair{Architecture::kX86_64, Zen3()},
                                               {Architecture::kX86_64, SapphireRapids()},
                                               {Architecture::kX86_64, AlderLake()},
                                               {Architecture::kAarch64, M4()},
                                               {Architecture::kAarch64, AllArmFeatures()}}) {
    const std::vector<Level> levels = Ladder(architecture, detected);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(ParseMask(architecture, detected, levels[i].mask).enabled, levels[i].features)
          << levels[i].name << " " << levels[i].mask;
      if (i == 0) continue;
      const FeatureSet& below = levels[i - 1].features;
      EXPECT_TRUE(std::ranges::includes(levels[i].features, below)) << levels[i].name;
      EXPECT_GT(levels[i].features.size(), below.size()) << levels[i].name;
    }
    EXPECT_EQ(levels.back().features, detected) << "the CPU as it is";
  }
}

TEST(Ladder, DetectsTheArchitectureByItsFeatures) {
  EXPECT_EQ(DetectArchitecture(M4()), Architecture::kAarch64);
  EXPECT_EQ(DetectArchitecture(Zen3()), Architecture::kX86_64);
  EXPECT_EQ(DetectArchitecture({}), HostArchitecture());
}

TEST(Ladder, MakesNoLevelOfFeaturesThatALowerLevelNeeds) {
  // SVE needs FP16, so a CPU with SVE whose Linux kernel does not list FP16 separately still has it.
  const std::vector<Level> levels = Ladder(Architecture::kAarch64, {"fp16", "sve"});
  EXPECT_THAT(LevelNames(levels), ElementsAre("neon", "fp16", "sve"));
  EXPECT_EQ(levels[1].mask, "=fp16");
}

}  // namespace
}  // namespace etprof::isa
