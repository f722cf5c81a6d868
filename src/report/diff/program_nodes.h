#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/match_nodes.h"
#include "compare/program_change.h"
#include "program/program.h"
#include "program/source/source_map.h"
#include "program/work.h"

namespace etprof {

// A step of a method that computes: a kernel, a node of an XNNPACK delegate, or a call of another delegate,
// whose payload is not read.
struct ProgramNode {
  ChangedNode node;
  Work work;
  int chain = 0, instruction = 0;
  std::optional<std::size_t> graph_node;  // in XnnGraph::nodes
  std::optional<std::size_t> delegate;    // in Method::delegates
  Bytes constants = 0;                    // of XNNPACK's nodes: of weights, biases, scales
};

// In the order of the instructions, and what each is matched by, index by index.
struct ProgramNodes {
  std::vector<ProgramNode> nodes;
  std::vector<MatchNode> match;
};

// `sources` may be null.
ProgramNodes NodesOf(const Method& method, const Program& program, const MethodSources* sources);

// Of a method in a map that may be null; null where it has none.
const MethodSources* SourcesOf(const SourceMap* sources, const Method& method);

// The instruction of a node.
const Instruction& InstructionOf(const ProgramNode& node, const Method& method);
// Why a portable kernel is not delegated (delegable.h); "" for other nodes, and where it is not known.
std::string WhyPortable(const ProgramNode& node, const Method& method);

}  // namespace etprof
