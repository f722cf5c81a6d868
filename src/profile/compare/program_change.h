#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "format/program/node_identity.h"
#include "format/program/tensors.h"
#include "profile/analysis/profile.h"

namespace etprof {

// The change of an operator between two programs.
struct ProgramChange {
  enum class Kind { kInserted, kRemoved, kMoved, kChanged };
  Kind kind = Kind::kChanged;
  std::string name;  // "layer1.2 Conv2d 64→64 3x3", the candidate's name if it has the operator
  std::vector<std::string> differences;  // also of a moved operator: "type fp32 → fp16"

  // "+ layer1.2 Conv2d 64→64 3x3", "layer1.2 Conv2d 64→64 3x3: type fp32 → fp16"
  std::string Text() const;
};
template <>
inline constexpr const char* kNames<ProgramChange::Kind>[] = {"inserted", "removed", "moved", "changed"};

// The baseline or candidate version of an operator.
struct ChangedNode {
  std::string module;  // "": the model itself, or not known
  NodeIdentity identity;
  std::vector<std::string> fused;
  OperatorTensors tensors;
  std::string backend;  // "portable", "XnnpackBackend"
};

// "layer1.2 Conv2d 64→64 3x3"
std::string NodeName(const ChangedNode& node);

// Finds the change between two matched nodes. Null: the program does not have the node. Absent if nothing
// changed.
std::optional<ProgramChange> FindProgramChange(const ChangedNode* baseline, const ChangedNode* candidate,
                                               bool moved);

// Finds the change between two matched operators (indices into Profile::operators); an absent index means
// that the profile does not have the operator. The result is absent if nothing changed, for framework spans,
// for operators that XNNPACK inserts when it loads a graph, and if a program is not known.
std::optional<ProgramChange> FindProgramChange(const Profile& baseline, const Profile& candidate,
                                               std::optional<std::size_t> in_baseline,
                                               std::optional<std::size_t> in_candidate, bool moved);

}  // namespace etprof
