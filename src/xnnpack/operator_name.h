#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof::xnnpack {

// The name that XNNPACK gives to an operator of a runtime, taken apart:
//   "Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1"
struct OperatorName {
  std::string type;    // "Convolution"
  std::string layout;  // "NHWC"; empty: the name has none ("Pack LH (X32)")
  std::vector<std::string>
      data_types;    // "PQS8", "QS8", "QC8W": input, output and weights as far as they differ
  std::string kind;  // of the microkernel: "IGEMM", "DWConv", "Reduce2"; empty: not said
  std::optional<std::uint32_t> number;  // of the operator among those of its name in its delegate, from 1

  // The types joined: "PQS8, QS8, QC8W".
  std::string DataTypes() const;
};

// Absent for what is no such name: it has neither parentheses nor a number, or nothing before them (ATen's
// "native_call_add.out", "Method::execute").
std::optional<OperatorName> ParseOperatorName(std::string_view name);

// Whether a data type is one that only packed operands have which KleidiAI's microkernels read: PF16, PF32,
// PQS8, QP8, in either case.
bool IsPackedType(std::string_view data_type);

// Whether the operator's own microkernel is one of KleidiAI's: it multiplies matrices (kind GEMM or IGEMM)
// and has a packed data type. Operators that only pack ("Convert (NC, F32, QP8)") do not count.
bool RunsOnKleidiai(const OperatorName& name);

// Whether an operator has a data type that only KleidiAI's SME and SME2 microkernels compute: PF16, PF32,
// PQS8. (QP8 is for its dot product and I8MM ones, too.)
bool NeedsSme(const OperatorName& name);

// Whether `word` is a data type as XNNPACK spells it, in lower case: "f32", "qc8w", "x16", "xx", "pqs8",
// "f32acc".
bool IsDataType(std::string_view word);

}  // namespace etprof::xnnpack
