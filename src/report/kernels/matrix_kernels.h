#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "program/xnn/kleidiai.h"
#include "protocol/messages.h"
#include "report/kernels/watched.h"

namespace etprof {

// Operators that multiply matrices (convolutions, fully connected, batch matrix multiplication), by the
// microkernels that they ran: what a watched run proves, else what their names say, and why not KleidiAI's,
// as far as the program says it.
struct MatrixKernelRow {
  KleidiaiUse::Kernels ran = KleidiaiUse::Kernels::kOwn;
  std::string proven;                  // the class of their code in a watched run (--watch); "": not seen
  bool contradicts = false;            // their names say otherwise than what was seen to run
  std::string why;                     // one clause; "": kSme
  std::string change;                  // at export, so that KleidiAI's run; "": none is known
  std::vector<std::size_t> operators;  // in Profile::operators
  double mean_ns = 0;                  // self time in a run
};

// Whether they ran on an Arm CPU, as far as is known: `isa` is absent for foreign runners, and then only an
// operator of KleidiAI's shows it.
bool RanOnArm(const Profile& profile, const std::optional<protocol::IsaState>& isa);

// Of a run on an Arm CPU: KleidiAI's first, then by falling time.
std::vector<MatrixKernelRow> MatrixKernels(const Profile& profile,
                                           const std::optional<protocol::IsaState>& isa,
                                           std::span<const WatchedRow> watched = {});

// The types of the operators on SME kernels of KleidiAI's, "Convolution (NHWC, PF32) IGEMM (3 operators)":
// as they were seen to run, else as they are named. `rows`: their MatrixKernels.
std::vector<std::string> SmeEvidence(const Profile& profile, std::span<const MatrixKernelRow> rows);

}  // namespace etprof
