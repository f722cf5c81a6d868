#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/join/align_nodes.h"
#include "program/program.h"

namespace etprof {

// A call of an XNNPACK delegate as it ran.
struct AlignedCall {
  const Instruction* instruction = nullptr;
  const XnnGraph* graph = nullptr;
  std::vector<std::size_t> operators;  // in Profile::operators, in the order in which they ran
  std::vector<std::string> stems;      // OperatorStem of their names
  Alignment alignment;                 // of these
};

// Where a value comes from: from an operator of the call (in AlignedCall::operators), from a value of the
// method that is given to the call, or it is not known.
struct Origin {
  std::optional<std::size_t> op, value;
  bool operator==(const Origin&) const = default;
};

// What passes between the operators of a call, and out of it.
struct CallFlow {
  std::vector<std::vector<Origin>> read;              // by operator, constants left out
  std::vector<std::pair<std::size_t, Origin>> given;  // in Method::values, and what writes it
};

// Only what all of the best alignments agree on. What XNNPACK inserted stands between the operator that it
// makes an input ready for, or the output of, and the other side.
CallFlow FlowOf(const AlignedCall& call);

}  // namespace etprof
