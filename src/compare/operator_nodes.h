#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "compare/match_nodes.h"
#include "program/tensors.h"

namespace etprof {

// "64x96x128, 64 | 96x128": sizes above 1, sorted, since backends order dimensions each in its own way;
// inputs and outputs, constants apart. "" for none.
std::string ShapesKey(const OperatorTensors& tensors);
// Of the largest constant.
std::string WeightsKey(const OperatorTensors& tensors);

// "Convolution (NHWC, PF32) IGEMM" -> "Convolution": what the operator does, whatever its layout, data type
// and kernel.
std::string_view OperationOf(std::string_view type);

// The operators as nodes to be matched, by their program where it is known of the profile, and
// `with_program`.
std::vector<MatchNode> NodesOfOperators(const Profile& profile, const std::vector<std::size_t>& operators,
                                        bool with_program);

}  // namespace etprof
