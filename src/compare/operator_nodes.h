#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "compare/match_nodes.h"
#include "program/node_identity.h"
#include "program/tensors.h"

namespace etprof {

// "64x96x128, 64 | 96x128": sizes above 1, sorted, since backends order dimensions each in its own way;
// inputs and outputs, constants apart. "" for none.
std::string ShapesKey(const OperatorTensors& tensors);

// What a node is matched by of its own, whichever backend runs it; its kind, type and place are not among it.
void DescribeNode(const OperatorTensors& tensors, const NodeIdentity& identity, MatchNode& node);

// Whether the profile was joined to the program that it is of.
bool IsProgramKnown(const Profile& profile);

// "Convolution (NHWC, PF32) IGEMM" -> "Convolution": what the operator does, whatever its layout, data type
// and kernel.
std::string_view OperationOf(std::string_view type);

// The operators as nodes to be matched, by their program where it is known of the profile, and
// `with_program`.
std::vector<MatchNode> NodesOfOperators(const Profile& profile, const std::vector<std::size_t>& operators,
                                        bool with_program);

}  // namespace etprof
