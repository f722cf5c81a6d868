#include "render/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "core/table.h"
#include "render/page/markdown_text.h"
#include "render/screen/roofline_plot.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using Align = Table::Align;

constexpr std::size_t kMarkdownRows = 20;
constexpr std::size_t kTerminalRows = 10;  // they have a letter in the picture
constexpr int kLayer = 16;                 // columns of a layer's name on the screen

// Three significant digits, in billions.
std::string Giga(double value) {
  const double giga = value / 1e9;
  return fmt::format("{:.{}f}", giga, giga >= 100 ? 0 : giga >= 10 ? 1 : giga >= 1 ? 2 : 3);
}

// "13.2 [13.0, 13.4]": an amount over the time, billions a second, at the time's interval.
std::string Rate(double amount, const OperatorTime& time) {
  if (amount == 0) return "";
  const auto over = [&](double ns) { return Giga(amount / ns * 1e9); };
  if (!time.low || !time.high) return over(time.ns);
  return fmt::format("{} [{}, {}]", over(time.ns), over(*time.high), over(*time.low));
}

std::string BoundText(const RooflineRow& row) {
  if (row.bound == RooflineRow::Bound::kMemory) return "memory";
  return row.roof_dtype == row.dtype ? "compute" : row.roof_dtype + " compute";
}

// operator, layer, time, GFLOP/s, GB/s, bound by, of roof, would save
std::vector<std::string> CellsOf(const ReportExperiment& experiment, const RooflineRow& row) {
  const Roofline& roofline = *experiment.roofline;
  const TimeScale scale = ScaleFor(roofline.covered_ns, roofline.covered_ns);
  return {experiment.profile->operators[row.op].name,
          LayerOf(*experiment.profile, row.op).value_or(""),
          scale.Text(row.time.ns),
          Rate(static_cast<double>(row.flops()), row.time),
          Rate(static_cast<double>(row.bytes), row.time),
          BoundText(row),
          PercentText(row.share()),
          row.gap_ns() > 0 ? scale.Text(row.gap_ns()) : std::string("nothing")};
}

Table MarkdownTable(const ReportExperiment& experiment) {
  Table table{{{"operator", Align::kLeft},
               {"layer", Align::kLeft},
               {"time", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"GB/s", Align::kRight},
               {"bound by", Align::kLeft},
               {"of roof", Align::kRight},
               {"would save", Align::kRight}},
              {}};
  const std::vector<RooflineRow>& rows = experiment.roofline->rows;
  for (std::size_t i = 0; i < std::min(kMarkdownRows, rows.size()); ++i)
    table.AddRow(CellsOf(experiment, rows[i]));
  return table;
}

// The first `count` rows, each behind its letter in the picture.
ScreenTable ScreenTableOf(const ReportExperiment& experiment, std::size_t count,
                          const std::vector<std::string>& letters) {
  ScreenTable table{{{"   operator"},
                     {"layer", false, 3},
                     {"time", true},
                     {"GFLOP/s", true, 2},
                     {"GB/s", true, 1},
                     {"bound by", false, 4},
                     {"of roof", true},
                     {"would save", true}},
                    {}};
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> cells = CellsOf(experiment, experiment.roofline->rows[i]);
    const std::string letter = i < letters.size() && !letters[i].empty() ? letters[i] : " ";
    cells[0] = letter + "  " + OneLine(cells[0]);
    cells[1] = FittedTail(OneLine(cells[1]), kLayer);
    auto& row = table.rows.emplace_back();
    for (std::string& cell : cells) row.push_back({std::move(cell)});
  }
  return table;
}

// Whose operators are told: of a pair the candidate, unless all are asked for; of a ladder the setting that
// one would ship.
std::vector<const ReportExperiment*> Told(const Report& report, bool all) {
  std::vector<const ReportExperiment*> told;
  for (const std::size_t subject : Subjects(report)) {
    if (report.experiments[subject].roofline) told.push_back(&report.experiments[subject]);
  }
  if ((!all || report.ladder) && !told.empty()) return told;
  told.clear();
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.roofline) told.push_back(&experiment);
  }
  return told;
}

std::string RestText(const Roofline& roofline, std::size_t shown) {
  double gap = 0;
  for (std::size_t i = shown; i < roofline.rows.size(); ++i) gap += std::max(0.0, roofline.rows[i].gap_ns());
  return fmt::format("{} more would save {} together", roofline.rows.size() - shown,
                     ScaleFor(roofline.covered_ns, roofline.covered_ns).Text(gap));
}

std::string SummaryText(const ReportExperiment& experiment) {
  const Roofline& roofline = *experiment.roofline;
  const TimeScale scale = ScaleFor(roofline.covered_ns, roofline.covered_ns);
  std::string text =
      fmt::format("{} operators take {}; at the machine's roofs {}: {} of it.", roofline.rows.size(),
                  scale.Text(roofline.covered_ns), scale.Text(roofline.roof_ns),
                  PercentText(roofline.roof_ns / roofline.covered_ns));
  if (roofline.not_covered_ns >= 0.005 * roofline.covered_ns)
    text += fmt::format(" {} more is in operators whose work is not known or that no roof limits.",
                        scale.Text(roofline.not_covered_ns));
  return text;
}

}  // namespace

void DrawRoofline(const Report& report, const TerminalOptions& options, std::ostream& out) {
  for (const ReportExperiment* const experiment : Told(report, options.all)) {
    const Roofline& roofline = *experiment->roofline;
    const std::size_t rows =
        options.all ? roofline.rows.size() : std::min(kTerminalRows, roofline.rows.size());
    out << '\n';
    WriteWrapped("  ", OneLine(experiment->label) + ": " + SummaryText(*experiment), 2, options.width, out);
    out << '\n';
    const std::vector<std::string> letters = DrawRooflinePlot(roofline, kTerminalRows, options, out);
    out << '\n';
    ScreenTableOf(*experiment, rows, letters).Draw(options, out);
    if (rows < roofline.rows.size()) out << "\n  " << RestText(roofline, rows) << " (--all shows them)\n";
  }
}

void RenderRooflineTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) {
    text << OneLine(HeaderText(report)) << '\n';
    DrawRoofline(report, on, text);
    if (!Told(report, true).empty()) return;
    text << '\n';
    WriteWrapped(
        "  ",
        "Nothing to show: it takes the machine's roofs (a run without --no-peaks) and the .pte that ran.", 2,
        on.width, text);
  });
}

void RenderRooflineMarkdown(const Report& report, markdown::Out& out) {
  using namespace markdown;
  for (const std::size_t subject : Subjects(report)) {
    const ReportExperiment& experiment = report.experiments[subject];
    if (!experiment.roofline) continue;
    const Roofline& roofline = *experiment.roofline;
    out << "## How far from the machine's limits"
        << (report.experiments.size() > 1 ? ": " + experiment.label : "") << "\n\n"
        << SummaryText(experiment) << "\n\n"
        << MarkdownTable(experiment) << '\n';
    if (roofline.rows.size() > kMarkdownRows) out << RestText(roofline, kMarkdownRows) << ". ";
    out << "By what an operator would save at its roof: the lower of compute (the fastest instructions that "
           "the mask allows) and memory (where its tensors fit). A multiply-add is 2 FLOPs.\n\n";
  }
}

}  // namespace etprof
