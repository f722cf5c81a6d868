#pragma once

#include "format/program/program.h"
#include "profile/analysis/join/program_join.h"
#include "profile/analysis/profile.h"

namespace etprof {

// Names kernels that log no event (operators.h) after the operators of `method`, the method that ran. Then
// computes the statistics again, since a name determines the category.
void NameUnloggedKernels(const Method& method, Profile& profile);

// Joins the operators of `profile` to `method` of the program that ran. Operators in an XNNPACK delegate are
// aligned with the nodes of its graph, in order (Needleman & Wunsch 1970): XNNPACK fuses clamps into
// preceding nodes, splits a bounded Add into Add and Clamp, and inserts packing and conversions. An operator
// is not joined if its best alignments lead to different results. `sources` may be null.
ProgramJoin JoinProgram(const Profile& profile, const Program& program, const Method& method,
                        const MethodSources* sources);

}  // namespace etprof
