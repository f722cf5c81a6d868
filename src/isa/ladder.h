#pragma once

#include <string>
#include <vector>

#include "isa/features.h"

namespace etprof::isa {

// One step of the ISA ladder: what XNNPACK chooses its kernels by, cumulatively.
struct Level {
  std::string name;     // "sse2", "avx", "avx512vnni", "sme2": the feature that it adds, as XNNPACK calls it
  FeatureSet features;  // visible at this level, of those that the CPU has; the architecture's baseline: none
  std::string mask;     // for ParseMask: "none", "=avx", ..., "all" of the highest

  static void Describe(auto& v) {
    v("name", &Level::name, {.meaning = "the feature that it adds, as XNNPACK calls it"});
    v("isa", &Level::mask, {.meaning = "its mask"});
  }
};

// The levels of a CPU that has `detected`, the lowest first: the architecture's baseline, then every step at
// which XNNPACK may choose other kernels and which the CPU has. Each level has all features of those below.
// What XNNPACK never asks for (SSE4.2, AVX-512's CD, VBMI2 and others, SVE's sub-features, ...) makes no
// level: it becomes visible with what needs it, or at the highest level, which is the CPU as it is.
std::vector<Level> Ladder(Architecture architecture, const FeatureSet& detected);

}  // namespace etprof::isa
