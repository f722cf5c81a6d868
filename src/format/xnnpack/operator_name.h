#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof::xnnpack {

// A parsed name of an operator in an XNNPACK runtime:
//   "Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1"
struct OperatorName {
  std::string type;    // "Convolution"
  std::string layout;  // "NHWC"; empty: the name has no layout ("Pack LH (X32)")
  std::vector<std::string>
      data_types;    // types of input, output and weights, if they differ: "PQS8", "QS8", "QC8W"
  std::string kind;  // kind of the microkernel: "IGEMM", "DWConv", "Reduce2"; empty: not in the name
  std::optional<std::uint32_t> number;  // number among the operators of the same name in the delegate, from 1
};

// Absent if the name has another form: neither parentheses nor a number, or nothing before them (ATen's
// "native_call_add.out", "Method::execute").
std::optional<OperatorName> ParseOperatorName(std::string_view name);

// The name that ExecuTorch 1.5 has for the operator. Up to 1.4, "Transpose (ND, X32) #1" was
// "Transpose (ND, X32) Transpose #1".
std::string ModernOperatorName(std::string name);

// Returns whether only packed operands for KleidiAI's microkernels have this data type: PF16, PF32, PQS8,
// QP8, in either case.
bool IsPackedType(std::string_view data_type);

// Returns whether the operator runs a KleidiAI microkernel: it multiplies matrices (kind GEMM or IGEMM) and
// has a packed data type. Operators that only pack ("Convert (NC, F32, QP8)") do not count.
bool RunsOnKleidiai(const OperatorName& name);

// Returns whether the operator has a data type that only KleidiAI's SME and SME2 microkernels support: PF16,
// PF32, PQS8. (QP8 is also supported by its dot product and I8MM microkernels.)
bool NeedsSme(const OperatorName& name);

// Returns whether `word` is a data type in XNNPACK's spelling, in lower case: "f32", "qc8w", "x16", "xx",
// "pqs8", "f32acc".
bool IsDataType(std::string_view word);

}  // namespace etprof::xnnpack
