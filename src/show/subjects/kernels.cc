#include "report/kernels/kernels.h"

#include <fmt/format.h>

#include "core/units.h"
#include "show/subjects.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

using xnnpack::KernelStatus;

constexpr std::size_t kScreenRows = 40;

std::string KernelText(const xnnpack::OperatorKernel& op) {
  if (!op.kernel.empty()) return op.kernel;
  if (op.candidates.empty()) return "not proven: " + op.reason;
  return fmt::format("not proven: one of {}: {}", op.candidates.size(), op.reason);
}

Cell TileCell(const xnnpack::OperatorKernel& op) {
  if (!op.tile) return {};
  return fmt::format("{}x{} of {}x{}", op.tile->mr, op.tile->nr, op.tile->m, op.tile->n);
}

std::string SmeText(const std::optional<xnnpack::Microkernel>& kernel) {
  return !kernel || !kernel->HasSme() ? "" : kernel->HasSme2() ? "SME2" : "SME";
}

std::string ProofSummary(const KernelView& view) {
  std::string text =
      fmt::format("{} microkernels: {} proven to have run, {} registered (use unknown), {} superseded.",
                  view.usage.kernels.size(), view.Count(KernelStatus::kUsed),
                  view.Count(KernelStatus::kRegistered), view.Count(KernelStatus::kSuperseded));
  if (view.lines > 0 && view.xnnpack_lines == 0)
    text += " The log has no lines of XNNPACK: its runner does not write them.";
  if (view.lines > 0 && view.xnnpack_lines > 0 && view.graphs.empty())
    text +=
        " The log has no operators (EXECUTORCH_XNNPACK_LOG_LEVEL 5 writes them), so no use can be proven.";
  if (view.truncated_lines > 0) text += fmt::format(" {} lines are cut short.", view.truncated_lines);
  if (view.etdump_agrees) {
    text += *view.etdump_agrees ? " The ETDump has the same operators in the same order."
                                : " The ETDump has other operators than the log: it is of another run.";
  }
  return text;
}

Table MakeOperatorUsesTable(const KernelView& view) {
  Table table{"operators",
              "Operators",
              {NameColumn("operator"), Left("tile").WithDropPriority(1), Left("microkernel").WithWrapping()}};
  for (const xnnpack::OperatorKernel& op : view.usage.operators)
    table.AddRow(op.name, TileCell(op), KernelText(op));
  table.screen_rows = kScreenRows;
  table.min_name_width = 24;
  return table;
}

Table MakeMicrokernelsTable(const KernelView& view, std::initializer_list<KernelStatus> statuses) {
  Table table{
      .id = "kernels",
      // The name of a microkernel contains all columns that are dropped first.
      .columns = {Left("microkernel"), Left("status"), Left("operation").WithDropPriority(6),
                  Left("data_types", "data types").WithDropPriority(5), Left("shape").WithDropPriority(4),
                  Left("instruction_set", "instruction set").WithDropPriority(3),
                  Left("variant").WithDropPriority(1), Left("sme", "SME"), Left("by").WithDropPriority(2)},
      .min_name_width = 64};
  for (const KernelStatus status : statuses) {
    for (const xnnpack::LoggedKernel& kernel : view.usage.kernels) {
      if (kernel.status != status) continue;
      const xnnpack::Microkernel unparsed;
      const xnnpack::Microkernel& k = kernel.parsed ? *kernel.parsed : unparsed;
      table.AddRow(kernel.name, GetName(status), kernel.parsed ? k.op : kernel.role, k.DataTypes(),
                   kernel.parsed ? k.Shape() : std::string(), k.Isa(), k.variant, SmeText(kernel.parsed),
                   status == KernelStatus::kSuperseded ? kernel.superseded_by
                   : kernel.configs.empty()            ? std::string()
                                                       : kernel.configs.front());
    }
  }
  return table;
}

Section MakeKernelsSection(const KernelView& view) {
  Table kernels = MakeMicrokernelsTable(view, {KernelStatus::kUsed, KernelStatus::kRegistered});
  kernels.title = "Microkernels";
  Table superseded = MakeMicrokernelsTable(view, {KernelStatus::kSuperseded});
  superseded.title = "Superseded";
  superseded.visibility = Visibility::kFolded;
  return {view.label,
          {Paragraph{ProofSummary(view)}, MakeOperatorUsesTable(view), std::move(kernels),
           std::move(superseded)}};
}

Section MakeKernelsSection(const KernelComparison& comparison) {
  const std::string &baseline = comparison.baseline_label, &candidate = comparison.candidate_label;
  Section section{fmt::format("{} against {}", candidate, baseline),
                  {Paragraph{fmt::format("{} {} the same status in both variants, {}.",
                                         CountedText(comparison.unchanged.size(), "microkernel"),
                                         comparison.unchanged.size() == 1 ? "has" : "have",
                                         CountedText(comparison.kernels.size(), "differs", "differ"))}}};
  const auto status = [](const std::optional<KernelStatus>& kernel_status) {
    return kernel_status ? Cell(GetName(*kernel_status)) : Cell();
  };
  Table kernels{.id = "compared_kernels",
                .columns = {Left("microkernel"), Left("baseline", baseline), Left("candidate", candidate),
                            Left("sme", "SME")}};
  for (const auto& row : comparison.kernels)
    kernels.AddRow(row.kernel, status(row.baseline), status(row.candidate), SmeText(row.parsed));
  section.parts.emplace_back(std::move(kernels));
  Table operators{.id = "compared_operators",
                  .columns = {{"baseline_operator", "operator, " + baseline},
                              {"candidate_operator", "operator, " + candidate},
                              {"baseline_microkernel", "microkernel, " + baseline},
                              {"candidate_microkernel", "microkernel, " + candidate}},
                  .visibility = Visibility::kPage};
  const auto kernel_or_unproven = [](const std::string& kernel) {
    return kernel.empty() ? "not proven" : kernel;
  };
  for (const auto& row : comparison.operators) {
    operators.AddRow(row.baseline, row.candidate, kernel_or_unproven(row.baseline_kernel),
                     kernel_or_unproven(row.candidate_kernel));
  }
  section.parts.emplace_back(std::move(operators));
  return section;
}

Section MakeKernelsSection(const OperatorEvidence& evidence) {
  const std::string &baseline = evidence.baseline_label, &candidate = evidence.candidate_label;
  Section section{fmt::format("Operators of {} and {}", baseline, candidate),
                  {Paragraph{fmt::format(
                      "Delegated operators: {} with another name in {} than in {}, {} with the same. "
                      "On KleidiAI's packed microkernels: {} in {}, {} in {}.",
                      evidence.changed.size(), candidate, baseline, evidence.unchanged.size(),
                      evidence.CountKleidiai(&OperatorEvidence::Row::baseline_kleidiai), baseline,
                      evidence.CountKleidiai(&OperatorEvidence::Row::candidate_kleidiai), candidate)}}};
  Table table{.id = "changed_operators",
              .columns = {Left("baseline", baseline), Left("baseline_runs_on", "runs on").WithDropPriority(1),
                          Left("candidate", candidate), Left("candidate_runs_on", "runs on")}};
  const auto runs_on = [](bool kleidiai, bool sme) {
    return std::string(sme ? "KleidiAI, SME" : kleidiai ? "KleidiAI" : "");
  };
  for (const auto& row : evidence.changed) {
    table.AddRow(KnownTextCell(row.baseline), runs_on(row.baseline_kleidiai, row.baseline_sme),
                 KnownTextCell(row.candidate), runs_on(row.candidate_kleidiai, row.candidate_sme));
  }
  section.parts.emplace_back(std::move(table));
  return section;
}

}  // namespace

Document MakeKernelsDocument(const KernelReport& report) {
  Document document{.title = report.title};
  if (document.title.empty()) {
    document.title = report.model_id.empty() ? "Kernels" : "Kernels of " + report.model_id;
    if (!report.filter.empty()) document.title += ": " + report.filter;
  }
  document.section_kind = "log";
  for (Section& section : MakeProvenKernelSections(report.watched)) {
    section.title = "Watched: " + section.title;
    document.sections.push_back(std::move(section));
  }
  for (const KernelView& view : report.views) document.sections.push_back(MakeKernelsSection(view));
  if (report.comparison) document.sections.push_back(MakeKernelsSection(*report.comparison));
  for (const OperatorEvidence& evidence : report.evidence)
    document.sections.push_back(MakeKernelsSection(evidence));
  document.notes = MakeNoteList(report.notes);
  document.method =
      "From kernel-log runs, which show kernels but not times. Used: an operator's kind, data types and tile "
      "agree with this microkernel alone. Registered: XNNPACK has it for operators that may need it; whether "
      "one did is not known. Superseded: another one was registered instead.";
  return document;
}

}  // namespace etprof::show
