#pragma once

#include "analysis/join/program_join.h"
#include "analysis/profile.h"
#include "program/program.h"

namespace etprof {

// Gives kernels that log no event (operators.h) the names that `method`, which ran, has for them.
void NameUnloggedKernels(const Method& method, Profile& profile);

// Joins the operators of `profile` to `method` of the program that ran. Those that run in an XNNPACK delegate
// are aligned with its graph's nodes, in order (Needleman & Wunsch 1970): XNNPACK fuses clamps into what
// precedes them, splits a bounded Add into Add and Clamp, and inserts packing and conversions. What has
// several best alignments that differ in what they say is not joined. `sources` may be null.
ProgramJoin JoinProgram(const Profile& profile, const Program& program, const Method& method,
                        const MethodSources* sources);

}  // namespace etprof
