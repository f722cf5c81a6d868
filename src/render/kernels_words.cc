#include <fmt/format.h>

#include "render/kernels.h"
#include "render/wording.h"

namespace etprof {

std::string KernelCell(const xnnpack::OperatorUse& op) {
  if (!op.kernel.empty()) return op.kernel;
  if (op.candidates.empty()) return "not proven: " + op.reason;
  return fmt::format("one of {}: {}", op.candidates.size(), op.reason);
}

std::string TileCell(const xnnpack::OperatorUse& op) {
  if (!op.tile) return kUndefined;
  return fmt::format("{}x{} of {}x{}", op.tile->mr, op.tile->nr, op.tile->m, op.tile->n);
}

std::string ViewSentence(const KernelView& view) {
  using xnnpack::KernelStatus;
  std::string text =
      fmt::format("{} microkernels: {} used, {} registered, {} superseded.", view.use.kernels.size(),
                  view.Count(KernelStatus::kUsed), view.Count(KernelStatus::kRegistered),
                  view.Count(KernelStatus::kSuperseded));
  if (view.lines > 0 && view.xnnpack_lines == 0)
    text += " The log has no line of XNNPACK: its runner is not trace-enabled.";
  if (view.lines > 0 && view.xnnpack_lines > 0 && view.graphs.empty())
    text +=
        " The log has no operators (EXECUTORCH_XNNPACK_LOG_LEVEL 5 writes them), so no use can be proven.";
  if (view.cut_lines > 0) text += fmt::format(" {} lines are cut.", view.cut_lines);
  if (view.etdump_agrees) {
    text += *view.etdump_agrees ? " The ETDump has the same operators in the same order."
                                : " The ETDump has other operators than the log: it is of another run.";
  }
  return text;
}

std::string EvidenceSentence(const OperatorEvidence& evidence) {
  return fmt::format(
      "{} of the delegated operators have another name in {} than in {}, {} have the same. On packed "
      "KleidiAI "
      "microkernels run {} in {} and {} in {}.",
      evidence.changed.size(), evidence.candidate_label, evidence.baseline_label, evidence.unchanged,
      evidence.baseline_kleidiai, evidence.baseline_label, evidence.candidate_kleidiai,
      evidence.candidate_label);
}

std::string SmeWord(const std::optional<xnnpack::Microkernel>& kernel) {
  return !kernel || !kernel->HasSme() ? "" : kernel->HasSme2() ? "SME2" : "SME";
}

}  // namespace etprof
