#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/program/program.h"
#include "profile/analysis/join/align_nodes.h"

namespace etprof {

// An executed call of an XNNPACK delegate.
struct AlignedCall {
  const Instruction* instruction = nullptr;
  const XnnGraph* graph = nullptr;
  std::vector<std::size_t> operators;  // indices into Profile::operators, in execution order
  std::vector<std::string> stems;      // OperatorStem of their names
  Alignment alignment;                 // alignment of the operators
};

// The origin of a value: an operator of the call (index into AlignedCall::operators), a value of the method
// that is passed to the call, or (both absent) not known.
struct ValueOrigin {
  std::optional<std::size_t> op, value;
  bool operator==(const ValueOrigin&) const = default;
};

// The values that pass between the operators of a call, and out of the call.
struct CallFlow {
  std::vector<std::vector<ValueOrigin>> read;  // inputs by operator, without constants
  std::vector<std::pair<std::size_t, ValueOrigin>>
      outputs;  // outputs: index into Method::values, and the origin
};

// Computes the dataflow on which all best alignments agree. An operator that XNNPACK inserted lies between
// the operator whose input or output it converts and the other end of the value.
CallFlow ComputeCallFlow(const AlignedCall& call);

}  // namespace etprof
