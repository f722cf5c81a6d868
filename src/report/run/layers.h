#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "compare/comparison.h"
#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

struct Sides;

// A module of the model, with what runs in it. Sums are over the common set of runs.
struct LayerRow {
  std::string path;        // "features.0.0"; "" is the model
  std::string type;        // "torch.nn.modules.conv.Conv2d"; "" where it is not known
  std::size_t parent = 0;  // in the same list; of the first one, the model, itself
  int depth = 0;
  Nanoseconds self = 0;
  Nanoseconds total = 0;               // with those of the modules in it
  std::vector<std::size_t> operators;  // of `total`, indices into Profile::operators

  static constexpr const char* kSchemaName = "layer";
  static void Describe(auto& v) {
    using L = LayerRow;
    v("path", &L::path, {.meaning = "empty: the model itself"});
    v("type", &L::type, {.meaning = "class of the module; null: not known", .or_null = true});
    v("parent", &L::parent, {.meaning = "index in this list; of the model its own"});
    v("depth", &L::depth, {.meaning = "0: the model"});
    v("self_ns", &L::self, {.meaning = "of operators that are the module's own", .least = kAnyNumber});
    v("total_ns", &L::total, {.meaning = "with the modules in it", .least = kAnyNumber});
    v("operators", [](const L& layer) { return layer.operators.size(); },
      {.meaning = "how many run in it, with the modules in it"});
  }
};

// The tree of modules that operators belong to: parents before children, these by their
// number where they have one ("features.0"), else in the order in which they first run.
// Empty where no operator has a place. What has none, overheads and clipped time are in no row: ByLayer has
// them.
std::vector<LayerRow> Layers(const Profile& profile);

// The share of the operators' time (overheads stand apart) that has a layer, 0 to 1; absent where there is
// none.
std::optional<double> AttributedShare(const Profile& profile);

// A module on both sides of a comparison: DeltaRow::name is its path.
struct LayerDelta {
  int depth = 0;
  std::string type;
  DeltaRow row;  // of `total`
};
std::vector<LayerDelta> CompareLayers(const Sides& sides);

// Rows by what `name_of` says of an operator (index into the profile's operators); what it says nothing of is
// left out.
using NameOfOperator = std::optional<std::string> (*)(const Profile& profile, std::size_t op);
std::vector<DeltaRow> CompareByName(const Sides& sides, NameOfOperator name_of);

}  // namespace etprof
