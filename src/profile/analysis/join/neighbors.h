#pragma once

#include <string>
#include <vector>

#include "format/program/program.h"
#include "profile/analysis/join/align_nodes.h"
#include "profile/analysis/join/program_join.h"
#include "profile/analysis/profile.h"

namespace etprof {

// An executed call of an XNNPACK delegate.
struct AlignedCall {
  const Instruction* instruction = nullptr;
  const XnnGraph* graph = nullptr;
  std::vector<std::size_t> operators;  // indices into Profile::operators, in execution order
  std::vector<std::string> stems;      // OperatorStem of their names
  Alignment alignment;
};

// Sets OperatorSource::producers and consumers of the joined operators of a profile: within a call by the
// values of its graph, between calls and kernels by the values of the method, in execution order. Connections
// are left out if the best alignments do not agree on them, or if a delegate without a graph or a branch
// writes the value.
void ConnectNeighbors(const Profile& profile, const Program& program, const Method& method,
                      const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators);

}  // namespace etprof
