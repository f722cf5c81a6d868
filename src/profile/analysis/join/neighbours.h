#pragma once

#include <vector>

#include "format/program/program.h"
#include "profile/analysis/join/call_flow.h"
#include "profile/analysis/join/program_join.h"
#include "profile/analysis/profile.h"

namespace etprof {

// Sets OperatorSource::producers and consumers of the joined operators of a profile: within a call by the
// values of its graph, between calls and kernels by the values of the method, in execution order. Connections
// are left out if the best alignments do not agree on them, or if a delegate without a graph or a branch
// writes the value.
void ConnectNeighbors(const Profile& profile, const Program& program, const Method& method,
                      const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators);

}  // namespace etprof
