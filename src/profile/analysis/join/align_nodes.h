#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// The nodes of a delegate's graph that one operator of the call executes.
struct AlignedOperator {
  bool inserted = false;                // no node: XNNPACK inserted the operator
  std::optional<std::size_t> node;      // main node; if absent and not `inserted`, no node fits the operator
  std::vector<std::size_t> fused;       // nodes that are fused into the main node
  std::vector<std::size_t> candidates;  // the operator's nodes in all best alignments
};

// One step of an alignment: a node with the operator that executes it (two for a bounded node), a node that
// XNNPACK left out, or an operator without a node.
struct AlignmentStep {
  std::optional<std::size_t> node;
  std::size_t op = 0;      // index of the first operator
  std::size_t count = 0;   // number of operators
  bool explained = false;  // XNNPACK is known to leave out such a node or to insert such an operator
};

struct Alignment {
  std::vector<AlignedOperator> operators;  // one of the best alignments, by operator of the call
  // All best alignments: each is a concatenation of one alternative of each part. A part with too many
  // alternatives has an empty list.
  struct Part {
    std::vector<std::vector<AlignmentStep>> alternatives;
  };
  std::vector<Part> parts;
};

// Aligns the operators of a call, in execution order (`stems`: OperatorStem of their names), with the nodes
// of the graph. Absent if the two are too long to be aligned.
std::optional<Alignment> AlignNodes(const XnnGraph& graph, const std::vector<std::string>& stems);

}  // namespace etprof
