#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "format/program/xnn/kleidiai.h"
#include "profile/analysis/profile.h"
#include "protocol/messages.h"
#include "report/kernels/watched.h"

namespace etprof {

// Operators that multiply matrices (convolutions, fully connected, batch matrix multiplication), grouped by
// the microkernels that ran: as observed in a watched run, else as implied by the operators' names. The
// program may show the reason if they are not KleidiAI's.
struct MatrixKernelRow {
  KleidiaiUsage::Kernels kernels = KleidiaiUsage::Kernels::kXnnpack;
  std::string observed_code;           // class of their code in a watched run (--watch); "": not observed
  bool contradicts = false;            // the names contradict the observed code
  std::string reason;                  // one clause: reason why no SME kernels ran; "": kSme
  std::string change;                  // change of the export that enables KleidiAI's kernels; "": not known
  std::vector<std::size_t> operators;  // indices into Profile::operators
  double mean_ns = 0;                  // self time per run

  static void Describe(auto& v) {
    using R = MatrixKernelRow;
    v("kernels", &R::kernels,
      {.meaning = "KleidiAI's for SME and SME2 (`sme`), KleidiAI's, XNNPACK's own, or a portable kernel"});
    v("proven", &R::observed_code,
      {.meaning = "the class of their code in a watched run; null: not watched", .or_null = true});
    v("contradicts", &R::contradicts, {.meaning = "their names say otherwise than what was seen to run"});
    v("why", &R::reason,
      {.meaning = "why not KleidiAI's for SME and SME2; null: they are, or it is not known",
       .or_null = true});
    v("change", &R::change,
      {.meaning = "of the export, so that KleidiAI's run; null: none is known", .or_null = true});
    v("mean_ms", &R::mean_ns, kNonNegativeMs.WithMeaning("self time of a run, of all of them"));
    v("operators", [](const R& row, const Profile& profile) { return OperatorKeys(profile, row.operators); },
      {.meaning = "their keys", .non_empty = true});
  }
};

// Returns whether the run was on an Arm CPU, as far as known. `isa` is absent for third-party runners; then
// only an operator with KleidiAI kernels shows it.
bool RanOnArm(const Profile& profile, const std::optional<protocol::IsaState>& isa);

// Returns whether XNNPACK's operator of this name multiplies matrices.
bool MultipliesMatrices(std::string_view name);

// The rows of a run on an Arm CPU: KleidiAI's first, then by decreasing time.
std::vector<MatrixKernelRow> FindMatrixKernels(const Profile& profile,
                                               const std::optional<protocol::IsaState>& isa,
                                               std::span<const WatchedRow> watched = {});

// The types of the operators on KleidiAI's SME kernels, "Convolution (NHWC, PF32) IGEMM (3 operators)": as
// observed, else as implied by their names. `rows`: result of FindMatrixKernels.
std::vector<std::string> ListSmeOperators(const Profile& profile, std::span<const MatrixKernelRow> rows);

}  // namespace etprof
