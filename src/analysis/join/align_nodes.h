#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/xnn/xnn_graph.h"

namespace etprof {

// What one operator of a delegate's call was, among the nodes of its graph.
struct AlignedOperator {
  bool inserted = false;            // none: XNNPACK's own
  std::optional<std::size_t> node;  // its own; absent and not inserted: none fits
  std::vector<std::size_t> fused;   // nodes that run as part of it
  std::vector<std::size_t>
      candidates;  // every node that it is in one of the best alignments; several: ambiguous
};

// One step of an alignment: a node with the operator that it runs as, with the two of a bounded one, or
// without any, left out by XNNPACK; or an operator without a node.
struct AlignmentStep {
  std::optional<std::size_t> node;
  std::size_t op = 0;      // the first one's number
  std::size_t count = 0;   // of operators
  bool explained = false;  // XNNPACK is known to leave out such a node, to insert such an operator
};

struct Alignment {
  std::vector<AlignedOperator> operators;  // one of the best alignments, by operator of the call
  // All of them: each is made of one of the ways through each part, one after the other. A part with too many
  // ways has none.
  struct Part {
    std::vector<std::vector<AlignmentStep>> ways;
  };
  std::vector<Part> parts;
};

// Aligns the operators of a call, in the order in which they ran (`stems`: OperatorStem of their names), with
// the nodes of the graph. Nothing where the two are too long to be aligned.
std::optional<Alignment> AlignNodes(const XnnGraph& graph, const std::vector<std::string>& stems);

}  // namespace etprof
