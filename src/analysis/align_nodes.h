#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/xnn_graph.h"

namespace etprof {

// What one operator of a delegate's call was, among the nodes of its graph.
struct AlignedOperator {
  bool inserted = false;            // none: XNNPACK's own
  std::optional<std::size_t> node;  // its own; absent and not inserted: none fits
  std::vector<std::size_t> fused;   // nodes that run as part of it
  std::vector<std::size_t>
      candidates;  // every node that it is in one of the best alignments; several: ambiguous
};

// Aligns the operators of a call, in the order in which they ran (`stems`: OperatorStem of their names), with
// the nodes of the graph. Empty where the two are too long to be aligned.
std::vector<AlignedOperator> AlignNodes(const XnnGraph& graph, const std::vector<std::string>& stems);

}  // namespace etprof
