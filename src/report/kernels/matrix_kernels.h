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

// Operators that multiply matrices (convolutions, fully connected, batch matrix multiplication), grouped by
// the microkernels that ran: as proven by a watched run, else as implied by the operators' names. The program
// may show the reason if they are not KleidiAI's.
struct MatrixKernelRow {
  KleidiaiUse::Kernels ran = KleidiaiUse::Kernels::kXnnpack;
  std::string proven;                  // class of their code in a watched run (--watch); "": not observed
  bool contradicts = false;            // the names contradict the observed code
  std::string why;                     // one clause: why no SME kernels ran; "": kSme
  std::string change;                  // change of the export that enables KleidiAI's kernels; "": not known
  std::vector<std::size_t> operators;  // indices into Profile::operators
  double mean_ns = 0;                  // self time per run
};

// Whether the run was on an Arm CPU, as far as known. `isa` is absent for third-party runners; then only an
// operator with KleidiAI kernels shows it.
bool RanOnArm(const Profile& profile, const std::optional<protocol::IsaState>& isa);

// The rows of a run on an Arm CPU: KleidiAI's first, then by decreasing time.
std::vector<MatrixKernelRow> FindMatrixKernels(const Profile& profile,
                                               const std::optional<protocol::IsaState>& isa,
                                               std::span<const WatchedRow> watched = {});

// The types of the operators on KleidiAI's SME kernels, "Convolution (NHWC, PF32) IGEMM (3 operators)": as
// observed, else as implied by their names. `rows`: their FindMatrixKernels.
std::vector<std::string> ListSmeOperators(const Profile& profile, std::span<const MatrixKernelRow> rows);

}  // namespace etprof
