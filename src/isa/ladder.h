#pragma once

#include <string>
#include <vector>

#include "isa/features.h"

namespace etprof::isa {

// A level of the ISA ladder. XNNPACK chooses its kernels by these levels, and each level includes all levels
// below.
struct Level {
  std::string name;  // the feature that it adds, in XNNPACK's spelling: "sse2", "avx", "avx512vnni", "sme2"
  FeatureSet features;  // visible features at this level, out of those of the CPU; empty for the baseline
  std::string mask;     // for ParseMask: "none", "=avx", ..., and "all" for the highest level

  static void Describe(auto& v) {
    v("name", &Level::name, {.meaning = "the feature that it adds, as XNNPACK calls it"});
    v("isa", &Level::mask, {.meaning = "its mask"});
  }
};

// The levels of a CPU with the features `detected`, lowest first: the architecture's baseline, then every
// step of the CPU at which XNNPACK may choose other kernels. Each level has all features of the levels below.
// Features that XNNPACK never checks (SSE4.2, AVX-512's CD, VBMI2 and others, SVE's sub-features, ...) have
// no level: they become visible with a feature that needs them, or at the highest level, at which all
// features are visible.
std::vector<Level> Ladder(Architecture architecture, const FeatureSet& detected);

}  // namespace etprof::isa
