#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "profile/analysis/profile.h"
#include "profile/compare/comparison.h"

namespace etprof {

struct ExperimentPair;

// A module of the model with the operators in it. Sums are over the common set of runs.
struct LayerRow {
  std::string path;        // "features.0.0"; "" is the model
  std::string type;        // "torch.nn.modules.conv.Conv2d"; "": not known
  std::size_t parent = 0;  // index into the result of FindLayers; 0 for the model itself
  int depth = 0;
  Nanoseconds self = 0;
  Nanoseconds total = 0;               // including the modules in it
  std::vector<std::size_t> operators;  // operators of `total`: indices into Profile::operators

  static constexpr const char* kSchemaName = "layer";
  static void Describe(auto& v) {
    using L = LayerRow;
    v("path", &L::path, {.meaning = "empty: the model itself"});
    v("type", &L::type, {.meaning = "class of the module; null: not known", .or_null = true});
    v("parent", &L::parent, {.meaning = "index in this list; of the model its own"});
    v("depth", &L::depth, {.meaning = "0: the model"});
    v("self_ns", &L::self, {.meaning = "of operators that are the module's own", .min = kNoMinimum});
    v("total_ns", &L::total, {.meaning = "with the modules in it", .min = kNoMinimum});
    v("operators", [](const L& layer) { return layer.operators.size(); },
      {.meaning = "how many run in it, with the modules in it"});
  }
};

// The tree of the modules of operators: parents before children; children by their number if they have one
// ("features.0"), else in the order in which they first run. Empty if no operator's module is known.
// Operators without a module, overheads, and truncated time are in no row; a breakdown by LayerName has them.
std::vector<LayerRow> FindLayers(const Profile& profile);

// The share of the operators' time (without overheads) that has a layer, 0 to 1; absent if the operators take
// no time.
std::optional<double> AttributedShare(const Profile& profile);

// A module in both variants of a comparison: DeltaRow::name is its path.
struct LayerDelta {
  int depth = 0;
  std::string type;
  DeltaRow row;  // comparison of LayerRow::total

  static void Describe(auto& v) {
    v.Flat(&LayerDelta::row);
    v("depth", &LayerDelta::depth, {.meaning = "of the module; 0: the model"});
    v("type", &LayerDelta::type, {.meaning = "class of the module", .or_null = true});
  }
};
std::vector<LayerDelta> CompareLayers(const ExperimentPair& variants);

// Compares groups of operators with the same name by `get_name` (argument: index into the profile's
// operators). Operators without a name are excluded.
std::vector<DeltaRow> CompareByName(const ExperimentPair& variants, OperatorNameFunction get_name);

}  // namespace etprof
