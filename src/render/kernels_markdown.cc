#include <fmt/format.h>

#include "render/kernels.h"
#include "render/markdown_text.h"

namespace etprof {
namespace {

using markdown::Align;

using markdown::MakeTable;
using xnnpack::KernelStatus;

Table KernelTable(const KernelView& view, bool superseded) {
  Table table = MakeTable({{"microkernel", Align::kLeft},
                           {"status", Align::kLeft},
                           {"operation", Align::kLeft},
                           {"data types", Align::kLeft},
                           {"shape", Align::kLeft},
                           {"instruction set", Align::kLeft},
                           {"variant", Align::kLeft},
                           {"SME", Align::kLeft},
                           {superseded ? "by" : "registered by", Align::kLeft}});
  for (const KernelStatus status :
       {KernelStatus::kUsed, KernelStatus::kRegistered, KernelStatus::kSuperseded}) {
    for (const xnnpack::LoggedKernel& kernel : view.use.kernels) {
      if (kernel.status != status || (status == KernelStatus::kSuperseded) != superseded) continue;
      const xnnpack::Microkernel none;
      const xnnpack::Microkernel& k = kernel.parsed ? *kernel.parsed : none;
      table.AddRow({kernel.name, std::string(NameOf(status)), kernel.parsed ? k.op : kernel.role,
                    k.DataTypes(), kernel.parsed ? k.Shape() : "", k.Isa(), k.variant, SmeWord(kernel.parsed),
                    superseded               ? kernel.superseded_by
                    : kernel.configs.empty() ? ""
                                             : kernel.configs.front()});
    }
  }
  return table;
}

void AddView(const KernelView& view, markdown::Out& out) {
  out << "\n## " << view.label << "\n\n" << ViewSentence(view) << "\n";
  if (!view.use.operators.empty()) {
    Table table =
        MakeTable({{"operator", Align::kLeft}, {"tile", Align::kLeft}, {"microkernel", Align::kLeft}});
    for (const xnnpack::OperatorUse& op : view.use.operators)
      table.AddRow({op.name, TileCell(op), KernelCell(op)});
    out << "\n### Operators\n\n" << table;
  }
  if (const Table table = KernelTable(view, false); !table.rows.empty())
    out << "\n### Microkernels\n\n" << table;
  if (const Table table = KernelTable(view, true); !table.rows.empty()) {
    out << "\n<details><summary>Superseded</summary>\n\n" << table << "\n</details>\n";
  }
}

std::string Status(const std::optional<KernelStatus>& status) {
  return status ? std::string(NameOf(*status)) : kUndefined;
}

void AddComparison(const KernelReport& report, markdown::Out& out) {
  const KernelComparison& comparison = *report.comparison;
  const std::string &off = comparison.baseline_label, &on = comparison.candidate_label;
  out.Format("\n## {} against {}\n\n{} microkernels have the same status on both sides, {} differ.\n", on,
             off, comparison.alike, comparison.kernels.size());
  if (!comparison.kernels.empty()) {
    Table table = MakeTable(
        {{"microkernel", Align::kLeft}, {off, Align::kLeft}, {on, Align::kLeft}, {"SME", Align::kLeft}});
    for (const auto& row : comparison.kernels)
      table.AddRow({row.kernel, Status(row.baseline), Status(row.candidate), SmeWord(row.parsed)});
    out << '\n' << table;
  }
  if (comparison.operators.empty()) return;
  Table table = MakeTable({{"operator, " + off, Align::kLeft},
                           {"operator, " + on, Align::kLeft},
                           {"microkernel, " + off, Align::kLeft},
                           {"microkernel, " + on, Align::kLeft}});
  const auto proven = [](const std::string& kernel) {
    return kernel.empty() ? std::string("not proven") : kernel;
  };
  for (const auto& row : comparison.operators)
    table.AddRow({row.baseline, row.candidate, proven(row.baseline_kernel), proven(row.candidate_kernel)});
  out << '\n' << table;
}

std::string Where(bool kleidiai, bool sme) { return sme ? "KleidiAI, SME" : kleidiai ? "KleidiAI" : ""; }

void AddEvidence(const OperatorEvidence& evidence, markdown::Out& out) {
  out.Format("\n## Operators of {} and {}\n\n{}\n", evidence.baseline_label, evidence.candidate_label,
             EvidenceSentence(evidence));
  if (evidence.changed.empty()) return;
  Table table = MakeTable({{evidence.baseline_label, Align::kLeft},
                           {"runs on", Align::kLeft},
                           {evidence.candidate_label, Align::kLeft},
                           {"runs on", Align::kLeft}});
  const auto name = [](const std::string& text) { return text.empty() ? std::string(kUndefined) : text; };
  for (const auto& row : evidence.changed) {
    table.AddRow({name(row.baseline), Where(row.baseline_kleidiai, row.baseline_sme), name(row.candidate),
                  Where(row.candidate_kleidiai, row.candidate_sme)});
  }
  out << '\n' << table;
}

}  // namespace

void RenderKernelsMarkdown(const KernelReport& report, std::ostream& file) {
  markdown::Out out(file);
  std::string title = report.title;
  if (title.empty()) {
    title = report.model_id.empty() ? "Kernels" : "Kernels of " + report.model_id;
    if (!report.filter.empty()) title += ": " + report.filter;
  }
  out << "# " << title
      << "\n\nOf trace-enabled runs: evidence of microkernels, never of time. *used*: an operator's kind, "
         "data types and "
         "tile\nagree with this microkernel alone. *registered*: XNNPACK has it for operators that may need "
         "it; whether one "
         "did is\nnot known. *superseded*: another one was registered in its place.\n";
  for (const std::string& note : report.notes) out << "\n- " << note << '\n';
  for (const KernelView& view : report.views) AddView(view, out);
  if (report.comparison) AddComparison(report, out);
  for (const OperatorEvidence& evidence : report.evidence) AddEvidence(evidence, out);
}

}  // namespace etprof
