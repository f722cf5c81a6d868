#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "core/views.h"
#include "isa/features.h"
#include "isa/ladder.h"
#include "protocol/messages.h"

namespace etprof {

// What the device's CPU has, as etprof-runner sees it.
struct CpuFeatures {
  isa::Architecture architecture;
  protocol::IsaState state;
  std::optional<isa::Extension> widest;
  std::vector<isa::Level> levels;  // of the ISA ladder, the lowest first

  bool Has(std::string_view feature) const {
    return std::ranges::find(state.detected, feature) != state.detected.end();
  }

  static void Describe(auto& v) {
    using C = const CpuFeatures&;
    v.Constant("schema_version", 1);
    v("architecture", [](C cpu) { return isa::Name(cpu.architecture); });
    v("features", [](C cpu) -> const auto& { return cpu.state.detected; });
    v("can_mask", [](C cpu) { return cpu.state.can_mask; });
    v("widest", [](C cpu) { return cpu.widest ? std::optional(WidestJson{*cpu.widest}) : std::nullopt; },
      {.meaning = "extension; null: there is none"});
    v("levels", [](C cpu) { return ViewsOf<LevelJson>(cpu.levels); },
      {.meaning = "of the ISA ladder, the lowest first", .some = true});
  }

 private:
  struct WidestJson {
    isa::Extension extension;
    static void Describe(auto& v) {
      v("name", [](const WidestJson& json) { return json.extension.name; });
      v("off", [](const WidestJson& json) { return json.extension.off; },
        {.meaning = "the mask that hides it"});
    }
  };
  struct LevelJson {
    const isa::Level& level;
    static void Describe(auto& v) {
      v("name", [](const LevelJson& json) { return json.level.name; });
      v("isa", [](const LevelJson& json) { return json.level.mask; }, {.meaning = "its mask"});
    }
  };
};

}  // namespace etprof
