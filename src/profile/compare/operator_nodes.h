#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/program/node_identity.h"
#include "format/program/tensors.h"
#include "profile/analysis/profile.h"
#include "profile/compare/match_nodes.h"

namespace etprof {

// "64x96x128, 64 | 96x128": shapes of the inputs and outputs without constants. Sizes of 1 are omitted, and
// sizes are sorted, since each backend orders dimensions differently. "" if there are no tensors.
std::string ShapesKey(const OperatorTensors& tensors);

// Fills the members of `node` that do not depend on the backend: shapes, weights, settings, and contents.
void FillMatchNode(const OperatorTensors& tensors, const NodeIdentity& identity, MatchNode& node);

// Returns whether the profile was joined to its program.
bool IsProgramKnown(const Profile& profile);

// "Convolution (NHWC, PF32) IGEMM" -> "Convolution": the operation without layout, data type, and kernel.
std::string_view OperationName(std::string_view type);

// Makes nodes of the operators for MatchNodes. With `with_program`, the nodes include the properties that the
// program shows; the program must be known.
std::vector<MatchNode> MakeMatchNodes(const Profile& profile, const std::vector<std::size_t>& operators,
                                      bool with_program);

}  // namespace etprof
