#include <fmt/format.h>

#include <algorithm>

#include "core/escape.h"
#include "core/table.h"
#include "render/kernels.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

using Align = Table::Align;
using xnnpack::KernelStatus;

// Words broken at blanks to the width, behind two blanks.
std::string Paragraph(const std::string& words, int width) {
  std::string text, line;
  std::size_t at = 0;
  while (at <= words.size()) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = OneLine(words.substr(at, end - at));
    at = end + 1;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width - 2) {
      text += "  " + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + "  " + line + '\n';
}

// The table with its last column cut to the width.
std::string TableText(Table table, int width) {
  constexpr int kLeast = 20;
  int others = 2;
  for (std::size_t column = 0; column + 1 < table.columns.size(); ++column) {
    int widest = DisplayWidth(table.columns[column].title);
    for (const auto& row : table.rows) widest = std::max(widest, DisplayWidth(row[column]));
    others += widest + 2;
  }
  for (auto& row : table.rows) row.back() = Fitted(row.back(), std::max(kLeast, width - others));
  return table.rows.empty() ? "" : "\n" + table.ToText(2);
}

// Of a microkernel that an operator ran, what the operator's name does not say: "7x32__avx512f_broadcast".
std::string Short(const std::string& kernel) {
  constexpr std::string_view kMiddle = "_ukernel_";
  const std::size_t at = kernel.find(kMiddle);
  return OneLine(at == std::string::npos ? kernel : kernel.substr(at + kMiddle.size()));
}

std::string OperatorLines(const KernelView& view, int width) {
  Table table{{{"operator", Align::kLeft}, {"tile", Align::kLeft}, {"microkernel", Align::kLeft}}, {}};
  for (const xnnpack::OperatorUse& op : view.use.operators) {
    if (!op.tile) continue;
    table.AddRow({OneLine(op.name), TileCell(op),
                  !op.kernel.empty()      ? Short(op.kernel)
                  : op.candidates.empty() ? "not proven"
                                          : fmt::format("not proven: one of {}", op.candidates.size())});
  }
  return TableText(std::move(table), width);
}

std::string KernelLines(const KernelView& view, int width) {
  Table table{{{"status", Align::kLeft},
               {"operation", Align::kLeft},
               {"data types", Align::kLeft},
               {"shape", Align::kLeft},
               {"instructions", Align::kLeft},
               {"variant", Align::kLeft}},
              {}};
  for (const KernelStatus status : {KernelStatus::kUsed, KernelStatus::kRegistered}) {
    for (const xnnpack::LoggedKernel& kernel : view.use.kernels) {
      if (kernel.status != status) continue;
      const std::string word(NameOf(status));
      if (kernel.parsed) {
        const xnnpack::Microkernel& k = *kernel.parsed;
        table.AddRow({word, k.op, k.DataTypes(), k.Shape(), k.Isa(), k.variant});
      } else {
        table.AddRow({word, OneLine(kernel.name), "", "", "", ""});
      }
    }
  }
  return TableText(std::move(table), width);
}

std::string ComparisonLines(const KernelReport& report) {
  const KernelComparison& comparison = *report.comparison;
  const std::string off = OneLine(comparison.baseline_label), on = OneLine(comparison.candidate_label);
  std::string text = fmt::format("{} against {}: {} microkernels alike, {} differ\n", on, off,
                                 comparison.alike, comparison.kernels.size());
  Table table{{{"microkernel", Align::kLeft}, {off, Align::kLeft}, {on, Align::kLeft}, {"", Align::kLeft}},
              {}};
  const auto status = [](const std::optional<KernelStatus>& of) {
    return of ? std::string(NameOf(*of)) : std::string(kUndefined);
  };
  for (const auto& row : comparison.kernels)
    table.AddRow({OneLine(row.kernel), status(row.baseline), status(row.candidate), SmeWord(row.parsed)});
  if (!table.rows.empty()) text += table.ToText(2);
  return text;
}

std::string EvidenceLines(const OperatorEvidence& evidence, int width) {
  std::string text =
      fmt::format("{} and {}\n", OneLine(evidence.baseline_label), OneLine(evidence.candidate_label)) +
      Paragraph(EvidenceSentence(evidence), width);
  Table table{{{OneLine(evidence.baseline_label), Align::kLeft},
               {OneLine(evidence.candidate_label), Align::kLeft},
               {"runs on", Align::kLeft}},
              {}};
  const auto name = [](const std::string& of) { return of.empty() ? std::string(kUndefined) : OneLine(of); };
  for (const auto& row : evidence.changed) {
    const bool kleidiai = row.candidate_kleidiai || row.baseline_kleidiai;
    const bool sme = row.candidate_sme || row.baseline_sme;
    const std::string& side = row.candidate_kleidiai ? evidence.candidate_label : evidence.baseline_label;
    table.AddRow({name(row.baseline), name(row.candidate),
                  kleidiai ? fmt::format("KleidiAI{} in {}", sme ? ", SME," : "", OneLine(side)) : ""});
  }
  return table.rows.empty() ? text : text + "\n" + table.ToText(2);
}

void DrawKernels(const KernelReport& report, const TerminalOptions& options, std::ostream& out) {
  const int width = std::max(options.width, kLeastWidth);
  std::vector<std::string> parts;
  for (const KernelView& view : report.views) {
    std::string title = OneLine(view.label);
    if (!view.model_id.empty() && view.model_id != view.label) title += " · " + OneLine(view.model_id);
    parts.push_back(title + " · kernels, no times\n" + Paragraph(ViewSentence(view), width) +
                    OperatorLines(view, width) + KernelLines(view, width));
  }
  if (report.comparison) parts.push_back(ComparisonLines(report));
  for (const OperatorEvidence& evidence : report.evidence) parts.push_back(EvidenceLines(evidence, width));
  out << fmt::format("{}", fmt::join(parts, "\n"));
  for (const std::string& note : report.notes) out << Paragraph("note: " + note, width);
  if (!options.more.empty()) out << Paragraph("more: " + options.more, width);
}

}  // namespace

void RenderKernelsTerminal(const KernelReport& report, const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) { DrawKernels(report, on, text); });
}

}  // namespace etprof
