#pragma once

#include <array>
#include <string>
#include <string_view>

namespace etprof {

// The kit's headline groups, then what is not an operator. In the order of the tables.
enum class Group {
  kConvolution,
  kGemm,
  kDataMovement,
  kElementwise,
  kOther,
  kFrameworkOverhead,
  kDelegateOverhead
};
inline constexpr std::array<Group, 7> kAllGroups = {Group::kConvolution,     Group::kGemm,
                                                    Group::kDataMovement,    Group::kElementwise,
                                                    Group::kOther,           Group::kFrameworkOverhead,
                                                    Group::kDelegateOverhead};
// "Convolution", "GEMM", "Data Movement", "Elementwise", "Other", "Framework overhead", "Delegate overhead".
std::string_view GroupName(Group group);

// A fine category (kit.md): "CONV_STANDARD", "CONV_DEPTHWISE", ..., "framework", "OTHER".
struct Category {
  std::string_view name;
  Group group = Group::kOther;
  bool known = true;  // false: no pattern of the table matched, "OTHER"
};

// The category of an operator by its name alone: XNNPACK's ("Convolution (NHWC, F32) IGEMM #1") or
// ExecuTorch's
// ("native_call_permute_copy.out", "aten::permute_copy.out").
Category Categorize(std::string_view operator_name);

// What is left of an operator's name when what says how, and not what, is taken off: "Convolution" of
// "Convolution (NHWC, F32) IGEMM #1", "permute" of "native_call_permute_copy.out".
std::string OperatorStem(std::string_view operator_name);

}  // namespace etprof
