#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/features.h"
#include "isa/ladder.h"
#include "protocol/messages.h"

namespace etprof {

// The features of the device's CPU, as detected by etprof-runner.
struct CpuFeatures {
  isa::Architecture architecture;
  protocol::IsaState state;
  std::optional<isa::Extension> widest;
  std::vector<isa::Level> levels;  // levels of the ISA ladder, the lowest first

  bool Has(std::string_view feature) const {
    return std::ranges::find(state.detected, feature) != state.detected.end();
  }

  static void Describe(auto& v) {
    using C = const CpuFeatures&;
    DescribeSchemaVersion(v);
    v("architecture", [](C cpu) { return isa::ArchitectureName(cpu.architecture); },
      {.meaning = "\"x86-64\", \"aarch64\""});
    v("features", [](C cpu) -> const auto& { return cpu.state.detected; },
      {.meaning = "that the CPU has, named as `--isa` takes them"});
    v("can_mask", [](C cpu) { return cpu.state.can_mask; },
      {.meaning = "whether the runner can hide features of this CPU"});
    v("widest", &CpuFeatures::widest, {.meaning = "extension; null: there is none"});
    v("levels", &CpuFeatures::levels, {.meaning = "of the ISA ladder, the lowest first", .non_empty = true});
  }
};

}  // namespace etprof
