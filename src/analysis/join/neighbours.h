#pragma once

#include <vector>

#include "analysis/join/call_flow.h"
#include "analysis/join/program_join.h"
#include "analysis/profile.h"
#include "program/program.h"

namespace etprof {

// Sets OperatorSource::producers and consumers of the joined operators of a profile: within a call by the
// values of its graph, between calls and kernels by those of the method, in the order in which they ran. What
// the best alignments do not agree on is left out, and so is what a delegate without a graph gives and what a
// branch moves.
void ConnectNeighbors(const Profile& profile, const Program& program, const Method& method,
                      const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators);

}  // namespace etprof
