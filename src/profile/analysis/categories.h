#pragma once

#include <string>
#include <string_view>

#include "core/json/describe.h"

namespace etprof {

// The main groups of operators, followed by the overheads, in the order of the tables.
enum class OperatorGroup {
  kConvolution,
  kGemm,
  kDataMovement,
  kElementwise,
  kOther,
  kFrameworkOverhead,
  kDelegateOverhead
};
template <>
inline constexpr const char* kNames<OperatorGroup>[] = {"Convolution",      "GEMM",  "Data Movement",
                                                        "Elementwise",      "Other", "Framework overhead",
                                                        "Delegate overhead"};
inline constexpr auto kAllOperatorGroups = AllValues<OperatorGroup>();
inline std::string_view OperatorGroupName(OperatorGroup group) { return GetName(group); }
constexpr bool IsOverhead(OperatorGroup group) {
  return group == OperatorGroup::kFrameworkOverhead || group == OperatorGroup::kDelegateOverhead;
}

// A category within a group (kit.md): "CONV_STANDARD", "CONV_DEPTHWISE", ..., "framework", "OTHER".
struct Category {
  std::string_view name;
  OperatorGroup group = OperatorGroup::kOther;
  bool known = true;  // false: not in the table, so "OTHER"
};

// The category of an operator, from its name in XNNPACK ("Convolution (NHWC, F32) IGEMM #1") or ExecuTorch
// ("native_call_permute_copy.out", "aten::permute_copy.out").
Category Categorize(std::string_view operator_name);

// An operator's name without implementation details: "Convolution" for "Convolution (NHWC, F32) IGEMM #1",
// "permute" for "native_call_permute_copy.out".
std::string OperatorStem(std::string_view operator_name);

}  // namespace etprof
