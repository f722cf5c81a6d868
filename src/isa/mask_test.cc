#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "core/golden_testing.h"
#include "isa/features.h"

namespace etprof::isa {
namespace {

constexpr Architecture kX86 = Architecture::kX86_64;
constexpr Architecture kArm = Architecture::kAarch64;
const FeatureSet kZen3 = {"sse3", "ssse3", "sse4_1", "sse4_2", "avx", "f16c", "fma3", "avx2"};
const FeatureSet kSkylakeX = {"sse3", "ssse3",   "sse4_1",   "sse4_2",   "avx",      "f16c",    "fma3",
                              "avx2", "avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"};
const FeatureSet kSme2 = {"atomics", "fp16", "dotprod", "bf16", "i8mm", "sve", "sve2", "sme", "sme2"};

std::string MaskProblem(Architecture architecture, const FeatureSet& detected, const std::string& spec) {
  try {
    ParseMask(architecture, detected, spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.Message();
  }
  return "no error";
}

TEST(ParseMask, MasksNothingByDefault) {
  for (const char* spec : {"", "  ", "all", "none,all", " ALL "}) {
    EXPECT_TRUE(ParseMask(kX86, kZen3, spec).masked.empty()) << spec;
  }
  EXPECT_TRUE(ParseMask(kX86, {}, "none").masked.empty());
}

TEST(ParseMask, MinusAlsoHidesDependents) {
  EXPECT_EQ(ParseMask(kX86, kZen3, "-avx2").masked, (FeatureSet{"avx2"}));
  EXPECT_EQ(ParseMask(kX86, kZen3, "-fma").masked, (FeatureSet{"avx2", "fma3"}));
  EXPECT_EQ(ParseMask(kX86, kSkylakeX, "-avx2").masked.size(), 6U);
  EXPECT_EQ(ParseMask(kX86, kSkylakeX, "-avx512").enabled, kZen3);
  EXPECT_EQ(ParseMask(kArm, kSme2, "-sme").masked, (FeatureSet{"sme", "sme2"}));
  EXPECT_EQ(ParseMask(kArm, kSme2, "-sme,-sme2").masked, (FeatureSet{"sme", "sme2"}));
  EXPECT_EQ(ParseMask(kArm, kSme2, "-sme2").masked, (FeatureSet{"sme2"}));
  EXPECT_EQ(ParseMask(kArm, kSme2, "-sve").masked, (FeatureSet{"sve", "sve2"}));
}

TEST(ParseMask, PlusAlsoShowsDependencies) {
  EXPECT_EQ(ParseMask(kX86, kSkylakeX, "-avx2,+avx512f").masked,
            (FeatureSet{"avx512bw", "avx512cd", "avx512dq", "avx512vl"}));
  EXPECT_EQ(ParseMask(kX86, kZen3, "none,+sse4.1").enabled, (FeatureSet{"sse3", "ssse3", "sse4_1"}));
  EXPECT_TRUE(ParseMask(kX86, kZen3, "+avx2").masked.empty());
}

TEST(ParseMask, EqualsShowsOnlyThatLevel) {
  EXPECT_EQ(ParseMask(kX86, kSkylakeX, "=avx2").enabled, kZen3);
  EXPECT_EQ(ParseMask(kX86, kSkylakeX, "=avx512").enabled, kSkylakeX);
  EXPECT_EQ(ParseMask(kX86, kZen3, "=avx").enabled, (FeatureSet{"avx", "sse3", "sse4_1", "sse4_2", "ssse3"}));
  EXPECT_EQ(ParseMask(kArm, kSme2, "=sme2").enabled, (FeatureSet{"bf16", "fp16", "sme", "sme2"}));
  EXPECT_TRUE(ParseMask(kX86, kZen3, "none").enabled.empty());
}

TEST(ParseMask, NamesTheProblem) {
  const auto zen3 = [](const std::string& spec) { return MaskProblem(kX86, kZen3, spec); };
  ExpectGoldenMessages("isa/mask_problems_x86_64", zen3,
                       {"-avx3", "-avx512vnny", "-frobnicate", "-avx512", "-avx512f", "=avx512", "+amx_tile",
                        "-sme2", "-sse2", "avx2", "-avx2,", ",", "-"});
  ExpectGoldenMessages("isa/mask_problems_aarch64", {{"-sme2 without it", MaskProblem(kArm, {}, "-sme2")},
                                                     {"-neon", MaskProblem(kArm, kSme2, "-neon")}});
}

// For any mask on any CPU, a visible feature has all dependencies that the CPU has, and the masked and
// enabled features together are the detected ones.
TEST(ParseMask, KeepsDependenciesForRandomMasks) {
  std::mt19937 random(7);
  for (const Architecture architecture : {kX86, kArm}) {
    std::vector<std::string> names;
    for (const Feature& feature : Features(architecture)) names.emplace_back(feature.name);
    for (int round = 0; round < 3000; ++round) {
      FeatureSet detected;
      for (const std::string& name : names) {
        if (random() % 2 == 0) detected.insert(name);
      }
      if (round % 2 == 0)
        detected = WithDependencies(architecture, detected);  // otherwise features may lack dependencies
      if (detected.empty()) continue;
      const std::vector<std::string> present(detected.begin(), detected.end());
      std::string spec;
      for (unsigned i = 0; i < 1 + random() % 4; ++i) {
        spec += spec.empty() ? "" : ",";
        spec += "-+="[random() % 3];
        spec += present[random() % present.size()];
      }
      const Mask mask = ParseMask(architecture, detected, spec);
      FeatureSet all_features = mask.masked;
      all_features.insert(mask.enabled.begin(), mask.enabled.end());
      ASSERT_EQ(all_features, detected) << spec;
      ASSERT_EQ(mask.masked.size() + mask.enabled.size(), detected.size()) << spec;
      for (const Feature& feature : Features(architecture)) {
        if (!mask.enabled.contains(std::string(feature.name))) continue;
        for (const std::string_view need : feature.needs) {
          ASSERT_FALSE(mask.masked.contains(std::string(need)))
              << spec << ": " << feature.name << " without " << need;
        }
      }
    }
  }
}

}  // namespace
}  // namespace etprof::isa
