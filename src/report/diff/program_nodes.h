#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "format/program/work.h"
#include "profile/compare/match_nodes.h"
#include "profile/compare/program_change.h"

namespace etprof {

// A computing step of a method: a kernel, a node of an XNNPACK delegate, or a call of another delegate, whose
// payload is not read.
struct ProgramNode {
  ChangedNode node;
  Work work;
  const Instruction* instruction = nullptr;  // points into Method::instructions
  std::optional<std::size_t> graph_node;     // index into XnnGraph::nodes
  std::optional<std::size_t> delegate;       // index into Method::delegates
  Bytes constants = 0;                       // bytes of weights, biases, and scales of XNNPACK nodes
};

// The nodes in the order of the instructions, and, by index, their properties for MatchNodes.
struct ProgramNodes {
  std::vector<ProgramNode> nodes;
  std::vector<MatchNode> match;
};

// Makes the nodes of a method. `sources` may be null.
ProgramNodes MakeProgramNodes(const Method& method, const Program& program, const MethodSources* sources);

// The reason why a portable kernel is not delegated (delegable.h); "": another kind of node, or not known.
std::string PortableReason(const ProgramNode& node, const Method& method);

}  // namespace etprof
