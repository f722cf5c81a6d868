#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "core/json/describe.h"
#include "program/node_identity.h"
#include "program/tensors.h"

namespace etprof {

// What happened to an operator of a program on the way to another program.
struct ProgramChange {
  enum class Kind { kInserted, kRemoved, kMoved, kChanged };
  Kind kind = Kind::kChanged;
  std::string name;               // "layer1.2 Conv2d 64→64 3x3", of the candidate where it has it
  std::vector<std::string> what;  // of kChanged, and of a moved one that changed: "type fp32 → fp16"

  // "+ layer1.2 Conv2d 64→64 3x3", "layer1.2 Conv2d 64→64 3x3: type fp32 → fp16"
  std::string Text() const;
};
template <>
inline constexpr NamedValue<ProgramChange::Kind> kNames<ProgramChange::Kind>[] = {
    {ProgramChange::Kind::kInserted, "inserted"},
    {ProgramChange::Kind::kRemoved, "removed"},
    {ProgramChange::Kind::kMoved, "moved"},
    {ProgramChange::Kind::kChanged, "changed"}};

// One side of what may have changed.
struct ChangedNode {
  std::string module;  // "" for the model itself, and where it is not known
  NodeIdentity identity;
  std::vector<std::string> fused;
  OperatorTensors tensors;
  std::string backend;  // "portable", "XnnpackBackend"
};

// What differs between two nodes that are matched: backend, channels, shapes, data types, settings, a fused
// activation or what is fused else. Contents of weights are no difference. What is not known of one
// of them, and what backends write down each in their own way, is left out.
std::vector<std::string> DifferencesOf(const ChangedNode& baseline, const ChangedNode& candidate);

// "layer1.2 Conv2d 64→64 3x3"
std::string NameOfNode(const ChangedNode& node);

// Of two nodes that are matched, or of one alone: the other is null. Absent where nothing changed.
std::optional<ProgramChange> ChangeOf(const ChangedNode* baseline, const ChangedNode* candidate, bool moved);

// Of operators (indices into Profile::operators) that are matched, or alone. Absent where nothing changed, of
// the framework's spans, of what XNNPACK inserts when it loads a graph, and where the program of a side is
// not known.
std::optional<ProgramChange> ChangeOf(const Profile& baseline, const Profile& candidate,
                                      std::optional<std::size_t> in_baseline,
                                      std::optional<std::size_t> in_candidate, bool moved);

}  // namespace etprof
