#include "isa/ladder.h"

#include <algorithm>
#include <string_view>

namespace etprof::isa {
namespace {

struct LadderStep {
  std::string_view name;
  std::vector<std::string_view> added;     // the step's own features, added with their dependencies
  std::vector<std::string_view> required;  // further features that XNNPACK requires for the step
};

// The steps are in XNNPACK's order of preference, as far as dependencies allow. Source: XNNPACK's
// src/configs/hardware-config.c, which queries only these features from cpuinfo and combines some of them:
// avx512skx is F with BW, DQ and VL; GFNI counts only with AVX-512's VNNI ("avx512vnnigfni"), and AMX only
// with VNNI and GFNI.
const std::vector<LadderStep>& LadderSteps(Architecture architecture) {
  static const std::vector<LadderStep> x86 = {
      {"ssse3", {"ssse3"}, {}},
      {"sse4_1", {"sse4_1"}, {}},
      {"avx", {"avx"}, {}},
      {"f16c", {"f16c"}, {}},
      {"fma3", {"fma3"}, {}},
      {"avx2", {"avx2"}, {}},
      {"avxvnni", {"avxvnni"}, {}},
      {"avxvnniint8", {"avxvnniint8"}, {}},
      {"avx512f", {"avx512f"}, {}},
      {"avx512skx", {"avx512bw", "avx512dq", "avx512vl"}, {}},
      {"avx512vbmi", {"avx512vbmi"}, {"avx512dq", "avx512vl"}},
      {"avx512vnni", {"avx512vnni"}, {"avx512bw", "avx512dq", "avx512vl"}},
      {"avx512vnnigfni", {"gfni"}, {"avx512vnni", "avx512bw", "avx512dq", "avx512vl"}},
      {"avx512bf16", {"avx512bf16"}, {}},
      {"avx512fp16", {"avx512fp16"}, {}},
      {"avx512amx", {"amx_int8"}, {"gfni", "avx512vnni", "avx512bw", "avx512dq", "avx512vl"}},
  };
  static const std::vector<LadderStep> arm = {
      {"dotprod", {"dotprod"}, {}}, {"fp16", {"fp16"}, {}}, {"i8mm", {"i8mm"}, {}}, {"bf16", {"bf16"}, {}},
      {"sve", {"sve"}, {}},         {"sve2", {"sve2"}, {}}, {"sme", {"sme"}, {}},   {"sme2", {"sme2"}, {}},
  };
  return architecture == Architecture::kAarch64 ? arm : x86;
}

// The mask that shows exactly these features: "=avx512bw,+avx512dq". Dependencies are implied.
std::string MakeMask(Architecture architecture, const FeatureSet& features) {
  std::string mask;
  for (const std::string& feature : features) {
    const bool implied = std::ranges::any_of(features, [&](const std::string& other) {
      return other != feature && WithDependencies(architecture, {other}).contains(feature);
    });
    if (!implied) mask += (mask.empty() ? "=" : ",+") + feature;
  }
  return mask.empty() ? "none" : mask;
}

}  // namespace

std::vector<Level> Ladder(Architecture architecture, const FeatureSet& detected) {
  std::vector<Level> levels = {{architecture == Architecture::kAarch64 ? "neon" : "sse2", {}, "none"}};
  const auto has = [&](std::string_view feature) { return detected.contains(std::string(feature)); };
  for (const LadderStep& step : LadderSteps(architecture)) {
    if (!std::ranges::all_of(step.added, has) || !std::ranges::all_of(step.required, has)) continue;
    FeatureSet features = levels.back().features;
    FeatureSet features_added;
    for (const std::string_view feature : step.added) features_added.emplace(feature);
    for (const std::string& feature : WithDependencies(architecture, features_added)) {
      if (has(feature)) features.insert(feature);
    }
    if (features == levels.back().features) continue;  // a lower level already has these features
    const std::string mask = MakeMask(architecture, features);
    levels.push_back({std::string(step.name), std::move(features), mask});
  }
  if (levels.size() > 1) {
    levels.back().features = detected;
    levels.back().mask = "all";
  }
  return levels;
}

}  // namespace etprof::isa
